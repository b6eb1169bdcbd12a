"""same_gradients.py MODEL.onnx FLAG...: gradients of the loss that the model has, rehearsed in f64, against the host's; inputs and weights are random."""

import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Execution"))
import harness
import recipes

model, flags = onnx.load(sys.argv[1]), ["--optimizer=sgd:lr=0.1", "--precision=f64", *sys.argv[2:]]
random = np.random.default_rng(1)


def draw(value):
    return random.normal(size=[d.dim_value for d in value.type.tensor_type.shape.dim]).astype(np.float32)


weights = [value for value in model.graph.input if value.name.startswith("w")]  # inputs by these names are made weights
for value in weights:
    model.graph.input.remove(value)
    model.graph.initializer.append(onnx.numpy_helper.from_array(draw(value) / 2, value.name))
with tempfile.TemporaryDirectory(prefix="para-") as folder:
    path, data = pathlib.Path(folder) / "model.onnx", pathlib.Path(folder) / "data.npz"
    onnx.save(model, str(path))
    np.savez(data, **{value.name: draw(value) for value in model.graph.input})
    serial = harness.train(path, flags, steps=2, data=data)
    worst, name = recipes.difference(harness.train(path, [*flags, "--target=rehearsal"], steps=2, data=data), serial)
    print(f"{worst:.1e} {name}")
    assert worst < 1e-11 and len(serial.gradients) == len(weights), name
