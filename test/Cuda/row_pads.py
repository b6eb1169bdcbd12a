"""The parts of row-pads.test: models whose products in 16 bits have an odd number of columns, on the host and in a rehearsal.

    row_pads.py exact PRECISION                   kernels with rows that lie apart and others, of numbers that 16 bits hold
    row_pads.py train STRIDE PRECISION [FLAGS...] two steps of a GPT: losses and parameters differ by no more than rounding in 16 bits makes of
                                                  them, and are the same for every seed; STRIDE is that of the logits' rows

It works in the current folder; FLAGS are for the rehearsed program."""

import os
import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXACT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[512,96] x, float[96,501] w, float[501,96] v, float[512,501] z) => (float[512,501] y, float[501] c, float[512,96] q, float[501,501] t) {
  a = MatMul(x, w)
  b = Relu(a)
  y = Add(b, z)
  c = ReduceMax <keepdims = 0, axes = [0]> (b)
  e = Sign(a)
  q = MatMul(e, v)
  f = Transpose <perm = [1, 0]> (e)
  t = MatMul(f, e)
}
"""
GPT = {"layers": 1, "hidden": 128, "heads": 2, "vocab": 501, "seq": 64, "batch": 16, "weights": 3}


def call(*command, **environment):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        sys.exit(f"exit status {done.returncode}: {' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    return done.stdout


def strides(*flags):
    program = call("para-opt", "model.onnx", *flags, "--target=cuda", "--emit=lower", "-o", "-")
    return [line.split("strides = array<i64: ")[1].split(">")[0].split(", ") for line in program.splitlines() if "rt.matmul" in line]


def exact(precision):
    pathlib.Path("model.txt").write_text(EXACT)
    call(sys.executable, ROOT / "test" / "Import" / "text.py", "model.txt", "model.onnx")
    random = np.random.default_rng(1)
    x, w, v, z = (random.integers(-1, 2, size=shape) for shape in ((512, 96), (96, 501), (501, 96), (512, 501)))
    np.savez("inputs.npz", **{name: value.astype(np.float32) for name, value in dict(x=x, w=w, v=v, z=z).items()})
    a = x @ w
    e = np.sign(a)
    expected = {"y": np.maximum(a, 0) + z, "c": np.maximum(a, 0).max(0), "q": e @ v, "t": e.T @ e}
    assert all(np.abs(expected[name]).max() <= 256 for name in "ycq")
    assert sum("504" in list for list in strides(f"--precision={precision}")) == 3
    call("para-opt", "model.onnx", "--target=rehearsal", f"--precision={precision}", "-o", "model.exe")
    call("./model.exe", "--inputs", "inputs.npz", "--outputs", "outputs.npz")
    found = np.load("outputs.npz")
    for name, want in expected.items():
        rounding = 2.0**-8 if name == "t" else 0  # its diagonal has more than 256 in it
        assert np.all(np.abs(found[name] - want) <= rounding * np.abs(want)), name


def train(stride, precision, *flags):
    sizes = [word for name, size in GPT.items() for word in (f"--{name}", size)]
    call(sys.executable, "-m", "para.models", "gpt", *sizes, "-o", "model.onnx", PYTHONPATH=str(ROOT / "python"))
    tokens = np.random.default_rng(2).integers(0, GPT["vocab"], size=(2 * GPT["batch"], GPT["seq"] + 1))
    np.savez("train.npz", input_ids=tokens[:, :-1], labels=tokens[:, 1:])
    common = ["--train", f"--precision={precision}", "--optimizer=sgd:lr=0.1"]
    # Logits, and what is made of their gradient.
    assert sum(stride in list for list in strides(*common, *flags)) >= 3

    def run(name, seed, own):
        call("para-opt", "model.onnx", *common, *own, "-o", f"{name}.exe")
        arguments = ["--data", "train.npz", "--steps", 2, "--dump-state", f"{name}.npz", "--progress=never"]
        call(pathlib.Path(f"{name}.exe").resolve(), *arguments, PARA_REHEARSE_SEED=str(seed))
        with np.load(f"{name}.npz") as state:
            return {key: state[key].astype(np.float64) for key in state.files}

    host = run("host", 0, [])
    first, second = (run("rehearsal", seed, ["--target=rehearsal", *flags]) for seed in (1, 2))
    for key, want in host.items():
        error = np.max(np.abs(first[key] - want)) / max(np.max(np.abs(want)), 1e-3)
        assert error < 2e-2, (key, error)
        assert np.array_equal(first[key], second[key]), f"{key}: another seed has other numbers"


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    {"exact": exact, "train": train}[kind](*arguments)
