"""Part of scatter.test: the gradient of a table in which rows are looked up, rehearsed, against numpy.

    scatter.py POSITIONS ROWS WIDTH same|uniform|skewed|sorted PRECISION int32|int64 [FLAGS...]

`same`: all look up the last row. It works in the current folder; FLAGS are for para-opt."""

import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

positions, rows, width = map(int, sys.argv[1:4])
kind, precision, index = sys.argv[4:7]
random = np.random.default_rng(positions + rows + width)
numbers = {
    "same": lambda: np.full(positions, rows - 1),
    "uniform": lambda: random.integers(0, rows, positions),
    "skewed": lambda: np.minimum(random.zipf(1.3, positions) - 1, rows - 1),
    "sorted": lambda: np.sort(random.integers(0, rows, positions)),
}[kind]().astype(index)
table, factors = (random.normal(size=(n, width)).astype(np.float32) for n in (rows, positions))

nodes = [
    helper.make_node("Gather", ["table", "i"], ["rows"], axis=0),
    helper.make_node("Mul", ["rows", "f"], ["products"]),
    helper.make_node("ReduceSum", ["products"], ["loss"], keepdims=0),
]
inputs = [
    helper.make_tensor_value_info("i", TensorProto.INT64 if index == "int64" else TensorProto.INT32, numbers.shape),
    helper.make_tensor_value_info("f", TensorProto.FLOAT, factors.shape),
]
outputs = [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])]
graph = helper.make_graph(nodes, "scatter", inputs, outputs, [numpy_helper.from_array(table, "table")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), "model.onnx")
np.savez("data.npz", i=numbers, f=factors)


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PARA_REHEARSE_SEED": str(positions)})
    if done.returncode:
        sys.exit(f"exit status {done.returncode}: {' '.join(command)}\n{done.stderr[-2000:]}")


call("para-opt", "model.onnx", "--train", "--optimizer=sgd:lr=1", "--target=rehearsal", f"--precision={precision}", *sys.argv[7:], "-o", "model.exe")
call("./model.exe", "--data", "data.npz", "--steps", "1", "--dump-state", "state.npz", "--progress=never")
expected = table.astype(np.float64)
np.subtract.at(expected, numbers, factors.astype(np.float64))
error = np.max(np.abs(np.load("state.npz")["table"] - expected)) / np.max(np.abs(expected))
assert error <= {"f32": 1e-6, "f64": 1e-14}[precision], error
