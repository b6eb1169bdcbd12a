"""uneven_pads.py MODEL.onnx: gradients of convolutions whose padding differs from side to side, and of what is joined in place, rehearsed against the host."""

import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Execution"))
import harness
import recipes

model = onnx.load(sys.argv[1])
random = np.random.default_rng(1)
for name, shape in (("w", (6, 4, 3, 3)), ("d", (6, 1, 2, 3)), ("v", (6, 6, 4))):
    model.graph.initializer.append(onnx.numpy_helper.from_array((random.normal(size=shape) / 3).astype(np.float32), name))
with tempfile.TemporaryDirectory(prefix="para-") as folder:
    path, data = pathlib.Path(folder) / "model.onnx", pathlib.Path(folder) / "data.npz"
    onnx.save(model, str(path))
    np.savez(data, x=random.normal(size=(2, 4, 9, 8)).astype(np.float32), t=random.normal(size=(2, 10, 9)).astype(np.float32))
    flags = ["--loss=mse:target=t", "--optimizer=sgd:lr=0.1", "--precision=f64"]
    serial = harness.train(path, flags, steps=2, data=data)
    for seed in range(4):
        worst, name = recipes.difference(harness.train(path, [*flags, "--target=rehearsal"], steps=2, data=data), serial)
        print(f"{worst:.1e} {name}")
        assert worst < 1e-12 and len(serial.gradients) == 3, name
