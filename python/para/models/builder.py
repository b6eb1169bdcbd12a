"""Writes graphs node by node."""

import math
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """An ONNX graph under construction; values are known by their names."""

    def __init__(self, name, opset=20):
        self.name, self.opset = name, opset
        self.nodes, self.inputs, self.outputs = [], [], []
        self.weights = {}  # name -> (shape, element type, how to start)
        self.constants = {}
        self.scope = ""

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, name, shape, dtype=TensorProto.FLOAT):
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def weight(self, name, shape, start="normal"):
        """A parameter; `start` is "normal", "ones" or "zeros"."""
        self.weights[name] = (list(shape), TensorProto.FLOAT, start)
        return name

    def constant(self, value):
        """A small constant, as a Constant node."""
        array = np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.constants:
            name = f"val_{len(self.nodes)}"
            tensor = numpy_helper.from_array(array, name)
            self.nodes.append(helper.make_node("Constant", [], [name], f"node_Constant_{len(self.nodes)}", value=tensor))
            self.constants[key] = name
        return self.constants[key]

    def op(self, kind, *operands, outputs=1, name=None, **attributes):
        """Adds a node; returns its result, or a list of several. Operands may be names, arrays or numbers."""
        operands = [x if isinstance(x, str) else self.constant(x) for x in operands]
        base = name or f"{self.scope}{kind.lower()}_{len(self.nodes)}"
        results = [base] if outputs == 1 else [f"{base}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, operands, results, f"node_{base}", **attributes))
        return results[0] if outputs == 1 else results

    def shape(self, x, *sizes):
        return self.op("Reshape", x, np.array(sizes, np.int64))

    def linear(self, x, name, inner, outer, bias=True):
        """x @ weight.T + bias, with the weight as [outer, inner]."""
        weight = self.weight(f"{name}.weight", [outer, inner])
        y = self.op("MatMul", x, self.op("Transpose", weight, perm=[1, 0]))
        return self.op("Add", y, self.weight(f"{name}.bias", [outer], "zeros")) if bias else y

    def model(self, weights):
        """The finished ModelProto. `weights` is a seed, or None: then the file names data that do not exist."""
        random = None if weights is None else np.random.default_rng(weights)
        tensors, offset = [], 0
        for name, (shape, dtype, start) in self.weights.items():
            if random is None:
                tensor = TensorProto(name=name, dims=shape, data_type=dtype, data_location=TensorProto.EXTERNAL)
                size = 4 * math.prod(shape)
                for key, value in (("location", f"{self.name}.onnx.data"), ("offset", offset), ("length", size)):
                    tensor.external_data.add(key=key, value=str(value))
                offset += size
            else:
                if start == "normal":
                    fan = math.prod(shape[1:]) if len(shape) > 1 else shape[0]
                    value = random.standard_normal(shape) * min(0.02 if len(shape) == 2 else 1.0, fan**-0.5)
                else:
                    value = np.full(shape, 1.0 if start == "ones" else 0.0)
                tensor = numpy_helper.from_array(value.astype(np.float32), name)
            tensors.append(tensor)
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], producer_name="para")
        model.ir_version = 10
        return model


def save(graph, path, weights=None):
    """Writes a graph. `weights` is the seed of random weights; without it the file has none."""
    graph.name = os.path.splitext(os.path.basename(path))[0]
    onnx.save(graph.model(weights), path)
