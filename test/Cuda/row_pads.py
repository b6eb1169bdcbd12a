"""Part of row-pads.test: a model whose products in 16 bits have an odd number of columns, trained on the host and in a rehearsal.

    row_pads.py STRIDE PRECISION [FLAGS...]
    row_pads.py mixed PRECISION           kernels with rows that lie apart and others, in inference

STRIDE is that of the logits' rows. Losses and parameters of two steps differ by no more than rounding in 16 bits makes of them, and are the same for every seed. It works in the
current folder; FLAGS are for the rehearsed program."""

import os
import pathlib
import subprocess
import sys

import numpy as np

stride, precision, *flags = sys.argv[1:]
ROOT = pathlib.Path(__file__).resolve().parents[2]


def call(*command, **environment):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        sys.exit(f"exit status {done.returncode}: {' '.join(map(str, command))}\n{done.stderr[-2000:]}")


if stride == "mixed":
    text = """<ir_version: 8, opset_import: ["" : 17]>
g (float[512,96] x, float[96,501] w, float[501,96] v, float[512,501] z) => (float[512,501] y, float[501] c, float[512,96] q, float[512,96] r) {
  a = MatMul(x, w)
  b = Tanh(a)
  y = Add(b, z)
  c = ReduceMean <keepdims = 0, axes = [0]> (b)
  e = Sigmoid(a)
  q = MatMul(e, v)
  s = Softmax <axis = -1> (a)
  r = MatMul(s, v)
}
"""
    pathlib.Path("mixed.txt").write_text(text)
    call(sys.executable, ROOT / "test" / "Import" / "text.py", "mixed.txt", "mixed.onnx")
    random = np.random.default_rng(1)
    shapes = {"x": (512, 96), "w": (96, 501), "v": (501, 96), "z": (512, 501)}
    np.savez("mixed.npz", **{name: (random.normal(size=shape) / 8).astype(np.float32) for name, shape in shapes.items()})
    found = {}
    for target in ("host", "rehearsal"):
        call("para-opt", "mixed.onnx", f"--target={target}", f"--precision={precision}", "-o", f"mixed-{target}.exe")
        call(pathlib.Path(f"mixed-{target}.exe").resolve(), "--inputs", "mixed.npz", "--outputs", f"{target}.npz")
        found[target] = {name: value.astype(np.float64) for name, value in np.load(f"{target}.npz").items()}
    for name, want in found["host"].items():
        error = np.max(np.abs(found["rehearsal"][name] - want)) / np.max(np.abs(want))
        assert error < 2e-2, (name, error)
    sys.exit()

call(sys.executable, "-m", "para.models", "gpt", "--layers", 1, "--hidden", 128, "--heads", 2, "--vocab", 501, "--seq", 64, "--batch", 16, "--weights", 3, "-o", "model.onnx",
     PYTHONPATH=str(ROOT / "python"))
tokens = np.random.default_rng(2).integers(0, 501, size=(32, 65))
np.savez("train.npz", input_ids=tokens[:, :-1], labels=tokens[:, 1:])
common = ["--train", f"--precision={precision}", "--optimizer=sgd:lr=0.1"]
call("para-opt", "model.onnx", *common, "--target=cuda", *flags, "--emit=lower", "-o", "program.mlir")
strides = [line.split("strides = array<i64: ")[1].split(">")[0].split(", ") for line in pathlib.Path("program.mlir").read_text().splitlines() if "rt.matmul" in line]
assert sum(stride in list for list in strides) >= 3, strides  # logits, and what is made of their gradient


def train(name, seed, own):
    call("para-opt", "model.onnx", *common, *own, "-o", f"{name}.exe")
    call(pathlib.Path(f"{name}.exe").resolve(), "--data", "train.npz", "--steps", 2, "--dump-state", f"{name}.npz", "--progress=never", PARA_REHEARSE_SEED=str(seed))
    with np.load(f"{name}.npz") as state:
        return {key: state[key].astype(np.float64) for key in state.files}


host = train("host", 0, [])
for seed in (1, 2):
    other = train("rehearsal", seed, ["--target=rehearsal", *flags])
    for key, want in host.items():
        error = np.max(np.abs(other[key] - want)) / max(np.max(np.abs(want)), 1e-3)
        assert error < 2e-2, (key, error)
    if seed == 2:
        assert all(np.array_equal(other[key], first[key]) for key in first), "another seed has other numbers"
    first = other
