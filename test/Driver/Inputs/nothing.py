"""Writes a model that computes nothing: its outputs are its input, the same under another name, and a weight. Beside it an input."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rows = np.arange(12, dtype=np.float32).reshape(4, 3)
info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 3])
graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "nothing", [info("x")], [info("x"), info("y"), info("w")], [numpy_helper.from_array(rows, "w")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), sys.argv[1])
np.savez(sys.argv[2], x=rows[::-1])
