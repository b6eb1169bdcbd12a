"""escape.py IN OUT: points the external data of a model at the folder above."""

import sys

import onnx

model = onnx.load(sys.argv[1], load_external_data=False)
for tensor in model.graph.initializer:
    tensor.external_data[0].value = "../" + tensor.external_data[0].value
onnx.save(model, sys.argv[2])
