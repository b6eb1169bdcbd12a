"""Writes graphs node by node."""

import contextlib
import math
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .sizes import SizeError

DTYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}
LOWEST = {"float32": float(np.finfo(np.float32).min), "float16": -65504.0, "bfloat16": -3.3895313892515355e38}
FILE_BYTES = 2**31 - 1  # what protobuf takes


class Graph:
    """An ONNX graph under construction; values are known by their names.

    `module` opens a module: nodes inside are called "/outer/inner/MatMul", and parameters "outer.inner.weight".
    `dtype` is the element type of weights and activations.
    """

    def __init__(self, name, opset=20, dtype="float32"):
        self.name, self.opset, self.dtype = name, opset, dtype
        self.type, self.numpy = DTYPES[dtype], helper.tensor_dtype_to_np_dtype(DTYPES[dtype])
        self.nodes, self.inputs, self.outputs = [], [], []
        self.weights = {}  # name -> (shape, how to start, whether it is trained)
        self.constants, self.used, self.path = {}, {}, []

    @contextlib.contextmanager
    def module(self, name):
        """Opens a module; "h.0.attn" is the module attn in h.0, which exporters call /h.0/attn."""
        self.path.append(name)
        yield
        self.path.pop()

    def input(self, name, shape, dtype=TensorProto.INT64):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, name, shape, dtype=TensorProto.FLOAT):
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def weight(self, name, shape, start="normal", trained=True):
        """A parameter of the open module, or a buffer; `start` is "normal", "ones" or "zeros"."""
        name = ".".join([*self.path, name])
        if math.prod(shape) * self.numpy.itemsize >= 2**63:
            raise SizeError(f"'{name}' of {' x '.join(map(str, shape))} elements is larger than 2^63 bytes")
        self.weights[name] = (list(shape), start, trained)
        return name

    def constant(self, value):
        """A small constant as a Constant node: integers are int64, Python floats and float64 have the graph's type."""
        array = np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(self.numpy)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.constants:
            name = self._node_name("Constant")
            result = name + "_output_0"
            self.nodes.append(helper.make_node("Constant", [], [result], name, value=numpy_helper.from_array(array, result)))
            self.constants[key] = result
        return self.constants[key]

    def op(self, kind, *operands, outputs=1, name=None, **attributes):
        """Adds a node; returns its result, or a list of several. Operands may be names, arrays or numbers."""
        operands = [x if isinstance(x, str) else self.constant(x) for x in operands]
        node = self._node_name(kind)
        results = [name] if name else [f"{node}_output_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, operands, results, node, **attributes))
        return results[0] if outputs == 1 else results

    def _node_name(self, kind):
        name = "/" + "/".join([*self.path, kind])
        count = self.used[name] = self.used.get(name, -1) + 1
        return f"{name}_{count}" if count else name

    def shape(self, x, *sizes):
        """Reshape; 0 keeps a size."""
        return self.op("Reshape", x, np.array(sizes, np.int64))

    def wide(self, x):
        """`x` as float32, where exporters compute in it whatever the weights are."""
        return x if self.dtype == "float32" else self.op("Cast", x, to=TensorProto.FLOAT)

    def narrow(self, x):
        """A float32 value in the graph's type."""
        return x if self.dtype == "float32" else self.op("Cast", x, to=self.type)

    def parameters(self):
        """How many elements are trained."""
        return sum(math.prod(shape) for shape, _, trained in self.weights.values() if trained)

    def bytes(self):
        """Bytes of the weights."""
        return self.numpy.itemsize * sum(math.prod(shape) for shape, _, _ in self.weights.values())

    def _random(self, random, shape, start):
        if start != "normal":
            return np.full(shape, 1.0 if start == "ones" else 0.0)
        matrix = len(shape) in (2, 3)
        fan = math.prod(shape[-1:] if matrix else shape[1:]) if len(shape) > 1 else shape[0]
        return random.standard_normal(shape) * min(0.02 if matrix else 1.0, fan**-0.5)

    def model(self, weights=None):
        """The finished ModelProto. `weights` is a seed, or None: then the file names data that do not exist."""
        if weights is not None and weights < 0:
            raise SizeError(f"--weights {weights}: a seed is not negative")
        if weights is not None and self.bytes() >= FILE_BYTES:
            raise SizeError(f"the weights are {self.bytes()} bytes, and an ONNX file holds less than 2 GiB: leave --weights out")
        random = None if weights is None else np.random.default_rng(weights)
        tensors, offset = [], 0
        for name, (shape, start, _) in self.weights.items():
            if random is None:
                tensor = TensorProto(name=name, dims=shape, data_type=self.type, data_location=TensorProto.EXTERNAL)
                size = self.numpy.itemsize * math.prod(shape)
                for key, value in (("location", f"{self.name}.onnx.data"), ("offset", offset), ("length", size)):
                    tensor.external_data.add(key=key, value=str(value))
                offset += size
            else:
                tensor = numpy_helper.from_array(self._random(random, shape, start).astype(self.numpy), name)
            tensors.append(tensor)
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], producer_name="para")
        model.ir_version = 10
        return model


def save(graph, path, weights=None):
    """Writes a graph. `weights` is the seed of random weights; without it the file has none."""
    graph.name = os.path.splitext(os.path.basename(path))[0]
    onnx.save(graph.model(weights), path)
