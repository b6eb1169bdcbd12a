"""Writes a model of a matrix and two scalars, y = scale * (x w) + shift, with its loss and a training set: scalar.py MODEL.onnx DATA.npz."""
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

random = np.random.default_rng(0)
node = helper.make_node
nodes = [node("MatMul", ["x", "w"], ["h"]), node("Mul", ["h", "scale"], ["s"]), node("Add", ["s", "shift"], ["y"]),
         node("Sub", ["y", "target"], ["d"]), node("Mul", ["d", "d"], ["q"]), node("ReduceMean", ["q"], ["loss"], keepdims=0)]
weights = [numpy_helper.from_array(random.standard_normal((4, 3)).astype(np.float32), "w"),
           numpy_helper.from_array(np.array(0.5, np.float32), "scale"), numpy_helper.from_array(np.array(0.25, np.float32), "shift")]
inputs = [helper.make_tensor_value_info("x", 1, ["batch", 4]), helper.make_tensor_value_info("target", 1, ["batch", 3])]
graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("loss", 1, [])], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
np.savez(sys.argv[2], x=random.standard_normal((64, 4)), target=random.standard_normal((64, 3)).astype(np.float32))
