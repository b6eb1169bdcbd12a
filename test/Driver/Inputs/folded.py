"""folded.py PATH: a model with a node that makes a constant, and one that no output needs."""
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

nodes = [helper.make_node("Constant", [], ["table"], name="table", value=numpy_helper.from_array(np.ones(4, np.float32))),
         helper.make_node("MatMul", ["x", "w"], ["product"], name="product"),
         helper.make_node("Relu", ["product"], ["unused"], name="idle"),
         helper.make_node("Add", ["product", "table"], ["y"], name="sum")]
value = lambda name: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4, 4])
graph = helper.make_graph(nodes, "folded", [value("x")], [value("y")], [numpy_helper.from_array(np.eye(4, dtype=np.float32), "w")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
