"""Copies of models in float64 whose constants are the numbers that the exporter rounded to float32.

A reference computed in float64 uses sqrt(2 / pi) or 0.044715 themselves, the file has them to 8 digits: a program that runs the file in
float64 is off by up to 1e-8 through no fault of its own. The copy shows whether that is all. Parameters are float32 on both sides and stay.
"""

import math
import pathlib
import shutil

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

#: Irrational numbers of formulas; any other constant is taken to be the shortest decimal that rounds to it.
IRRATIONAL = [math.sqrt(2 / math.pi), math.sqrt(0.5), 2 / math.sqrt(math.pi), math.log(2), math.pi]
IRRATIONAL += [k ** power for k in range(2, 513) for power in (0.5, -0.5, 0.25, -0.25)]


def unround(value):
    rounded = np.float32(value)
    for number in IRRATIONAL:
        if np.float32(abs(number)) == abs(rounded):
            return math.copysign(number, rounded)
    return float(str(rounded)) if np.isfinite(rounded) else float(rounded)


def widen(tensor, parameters):
    if tensor.data_type != TensorProto.FLOAT:
        return
    values = numpy_helper.to_array(tensor).astype(np.float64)
    if tensor.name not in parameters and values.size == 1:
        values = np.full(values.shape, unround(values.reshape(-1)[0]))
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def copy_exact(folder, target, parameters):
    """Copies the reference in `folder` to `target` (made) with the model in float64; returns `target`."""
    folder, target = pathlib.Path(folder), pathlib.Path(target)
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("model_*.onnx"))
    model = onnx.load(folder / "model.onnx")
    for tensor in model.graph.initializer:
        widen(tensor, parameters)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                widen(attribute.t, parameters)
            elif node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    for info in [*model.graph.value_info, *model.graph.input, *model.graph.output]:
        if info.type.tensor_type.elem_type == TensorProto.FLOAT:
            info.type.tensor_type.elem_type = TensorProto.DOUBLE
    onnx.save(model, target / "model.onnx")
    return target
