"""The parts of strips.test, online.test, turns.test and extents.test: models of odd sizes, rehearsed and held against numpy or the host, and what a report says of them.

    strips.py sums FORM ROWS COLUMNS PRECISION fused|apart   sums over rows beside the kernel that has them, which is then the only one that
                                                             reads or writes tensors of that size
    strips.py train FLAGS...                                 two steps of a GPT large enough for that, against one rank on the host
    strips.py online PRECISION                               softmax, its logarithm and cross-entropy of rows that fit into no block
    strips.py turns softmax|kept PRECISION ROWS COLUMNS      more rows than the cache holds, of which a block holds nothing, or a part
    strips.py extents PRECISION                              launches of one kernel for other numbers of rows, of terms and of elements

It works in the current folder."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
FORMS = {
    # a layer norm, what it makes, what it reads and a product of both
    "norm": """g (float[{n},{c}] x, float[{n},{c}] r, float[{c}] w, float[{c}] b) => (float[{n},{c}] y, float[{c}] s, float[{c}] t, float[{c}] u) {{
  a = Add(x, r)
  y = LayerNormalization <axis = -1> (a, w, b)
  p = Mul(y, x)
  axes = Constant <value_ints = [0]> ()
  s = ReduceSum <keepdims = 0> (y, axes)
  t = ReduceSum <keepdims = 0> (x, axes)
  u = ReduceSum <keepdims = 0> (p, axes)
}}""",
    # every element by itself, over two dimensions of rows
    "flat": """g (float[{n0},{n1},{c}] x, float[{n0},{n1},{c}] r, float[{c}] w) => (float[{n0},{n1},{c}] y, float[{c}] s, float[{c}] t) {{
  a = Mul(x, w)
  h = Tanh(a)
  y = Add(h, r)
  p = Mul(h, x)
  axes = Constant <value_ints = [0, 1]> ()
  s = ReduceSum <keepdims = 0> (y, axes)
  t = ReduceSum <keepdims = 0> (p, axes)
}}""",
    # other combinations than sums
    "max": """g (float[{n},{c}] x, float[{n},{c}] r) => (float[{n},{c}] y, float[{c}] s, float[{c}] t) {{
  y = Softmax <axis = -1> (x)
  p = Mul(y, r)
  s = ReduceMax <keepdims = 0, axes = [0]> (y)
  t = ReduceMin <keepdims = 0, axes = [0]> (p)
}}""",
}
ONLINE = """g (float[33,30011] x, int64[33] l, float[5,3,21001] z) => (float[33] e, float[5,3,21001] p, float[5,3,21001] q) {
  e = SoftmaxCrossEntropyLoss <reduction = "none", ignore_index = -100> (x, l)
  p = Softmax <axis = -1> (z)
  q = LogSoftmax <axis = -1> (z)
}"""
TURNS = """g (float[{n},{c}] x) => (float[{n},{c}] p) {{
  p = Softmax <axis = -1> (x)
}}"""
KEPT = """g (float[{n},{c}] x, float[{n},{c}] r, float[{c}] w, float[{c}] b) => (float[{n},{c}] p, float[{n},{c}] y) {{
  a = Softmax <axis = -1> (x)
  d = Add(x, r)
  y = LayerNormalization <axis = -1> (d, w, b)
  e = Softmax <axis = -1> (y)
  p = Mul(a, e)
}}"""
EXTENTS = """g (float[512,60] a, float[301,60] b, float[1,60] c, float[701] m, float[33] n, float[16,50] o)
  => (float[512] sa, float[301] sb, float[1] sc, float tm, float tn, float to, float[512,60] ea, float[33] en) {
  qa = Mul(a, a)
  qb = Mul(b, b)
  qc = Mul(c, c)
  axes = Constant <value_ints = [1]> ()
  sa = ReduceSum <keepdims = 0> (qa, axes)
  sb = ReduceSum <keepdims = 0> (qb, axes)
  sc = ReduceSum <keepdims = 0> (qc, axes)
  tm = ReduceMax <keepdims = 0> (m)
  tn = ReduceMax <keepdims = 0> (n)
  to = ReduceMax <keepdims = 0> (o)
  ea = Tanh(a)
  en = Tanh(n)
}"""
BOUNDS = {"f32": 2e-6, "f64": 2e-13}


def call(*command, **environment):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        sys.exit(f"exit status {done.returncode}: {' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    return done.stdout


def write_model(text):
    pathlib.Path("model.txt").write_text(f'<ir_version: 8, opset_import: ["" : 17]>\n{text}\n')
    call(sys.executable, HERE.parent / "Import" / "text.py", "model.txt", "model.onnx")


def kernels(precision="f32"):
    return json.loads(call("para-opt", "model.onnx", "--target=cuda", f"--precision={precision}", "--report=kernels", "--json"))["kernels"]


def infer(target, precision, seed=0):
    call("para-opt", "model.onnx", f"--target={target}", f"--precision={precision}", "-o", f"{target}.exe")
    call(pathlib.Path(f"{target}.exe").resolve(), "--inputs", "inputs.npz", "--outputs", f"{target}.npz", PARA_REHEARSE_SEED=str(seed))
    return np.load(f"{target}.npz")


def compare(found, expected, bound):
    """Over each tensor's largest element; what is not finite must be the same."""
    for name, want in expected.items():
        have, want = np.asarray(found[name], np.float64), np.asarray(want, np.float64)
        finite = np.isfinite(want)
        assert np.array_equal(have[~finite], want[~finite], equal_nan=True) and np.all(np.isfinite(have[finite])), name
        error = np.max(np.abs(have[finite] - want[finite]), initial=0) / max(np.max(np.abs(want[finite]), initial=0), 1e-30)
        assert error <= bound, f"{name}: {error} > {bound}"


def sums(form, rows, columns, precision, kind):
    n, c = int(rows), int(columns)
    n0 = next(d for d in (7, 8, 1) if n % d == 0)
    write_model(FORMS[form].format(n=n, c=c, n0=n0, n1=n // n0))
    random = np.random.default_rng(n + c)
    shape = (n0, n // n0, c) if form == "flat" else (n, c)
    inputs = {"x": random.normal(size=shape), "r": random.normal(size=shape)}
    if form != "max":
        inputs["w"] = random.normal(size=c)
    if form == "norm":
        inputs["b"] = random.normal(size=c)
    np.savez("inputs.npz", **{name: value.astype(np.float32) for name, value in inputs.items()})
    large = [kernel for kernel in kernels() if any(buffer["minimal_bytes"] >= 4 * n * c for buffer in kernel["buffers"])]
    assert (len(large) == 1) == (kind == "fused"), large
    if kind == "fused":  # two tensors in, one out, and the parts of sums
        assert large[0]["bytes_ratio"] < 1.01 and large[0]["bytes"] < 4 * n * c * (3 + 3 / 7.9), large
    compare(infer("rehearsal", precision, seed=n), infer("host", "f64"), BOUNDS[precision])


def train(flags):
    sizes = {"layers": 1, "hidden": 32, "heads": 2, "vocab": 96, "seq": 128, "batch": 16}
    call(sys.executable, "-m", "para.models", "gpt", *[word for name, size in sizes.items() for word in (f"--{name}", size)], "--weights", 1, "-o", "model.onnx",
         PYTHONPATH=str(HERE.parents[1] / "python"))
    tokens = np.random.default_rng(1).integers(0, sizes["vocab"], size=(32, sizes["seq"] + 1))
    np.savez("train.npz", input_ids=tokens[:, :-1], labels=tokens[:, 1:])
    common = ["--train", "--precision=f64", "--optimizer=adamw:lr=0.01,weight_decay=0.1", "--clip-norm", "0.5"]
    for name, own in (("host", []), ("rehearsal", ["--target=rehearsal", *flags])):
        call("para-opt", "model.onnx", *common, *own, "-o", f"{name}.exe")
        call(pathlib.Path(f"{name}.exe").resolve(), "--data", "train.npz", "--steps", 2, "--dump-state", f"{name}.npz", "--progress=never")
    # Of all that is summed over rows a kernel of its own reads nothing but the gradient of positions, which is summed over the batch.
    report = json.loads(call("para-opt", "model.onnx", *common, *flags, "--target=cuda", "--report=kernels", "--json"))
    ranks = 2 if "--ranks" in flags else 1
    readers = [k for k in report["kernels"] if k["family"] == "reduction" and k["minimal_bytes"] >= 8 * sizes["batch"] * sizes["seq"] * sizes["hidden"] // ranks]
    assert len(readers) == 1, readers
    host = np.load("host.npz")
    compare(np.load("rehearsal.npz"), {name: host[name] for name in host.files}, 1e-11)


def online(precision):
    write_model(ONLINE)
    random = np.random.default_rng(3)
    x, z = (3 * random.normal(size=(33, 30011))).astype(np.float32), (20 * random.normal(size=(5, 3, 21001))).astype(np.float32)
    labels = random.integers(0, 30011, size=33)
    # Rows that begin or end infinitely low, lie low, have one large element; the first and the last label, and one that is ignored.
    x[0, :20000], x[1, 1:], x[2], x[3, 30010] = -np.inf, -np.inf, x[2] - 1e4, 1e5
    labels[:7] = 25000, 0, 7, 30010, -100, 0, 30010
    z[0, 0], z[0, 1], z[0, 2, 5:] = np.sort(z[0, 0]), -np.sort(-z[0, 1]), -np.inf
    np.savez("inputs.npz", x=x, l=labels, z=z)
    loss = [kernel for kernel in kernels() if kernel["family"] == "cross-entropy" and kernel["bytes"] >= x.nbytes]
    assert len(loss) == 1 and loss[0]["bytes_ratio"] <= 1.05 and loss[0]["bytes"] <= 1.05 * x.nbytes, loss

    def logarithms(rows):
        rows = rows.astype(np.float64)
        most = rows.max(-1, keepdims=True)
        return rows - most - np.log(np.exp(rows - most).sum(-1, keepdims=True))

    each = -logarithms(x)[np.arange(33), np.maximum(labels, 0)] * (labels != -100)
    q = logarithms(z)
    compare(infer("rehearsal", precision), {"e": each, "p": np.exp(q), "q": q}, BOUNDS[precision])


def turns(form, precision, rows, columns):
    n, c = int(rows), int(columns)
    write_model({"softmax": TURNS, "kept": KEPT}[form].format(n=n, c=c))
    random = np.random.default_rng(5)
    x, r, w, b = (random.normal(size=shape).astype(np.float32) for shape in ((n, c), (n, c), c, c))
    inputs = dict(x=x) if form == "softmax" else dict(x=x, r=r, w=w, b=b)
    np.savez("inputs.npz", **inputs)
    (kernel,) = (kernel for kernel in kernels(precision) if kernel["bytes"] >= x.nbytes)
    assert 64 <= kernel["blocks"] < n and kernel["bytes_ratio"] <= 1.05 and (kernel["shared_bytes"] > 32 << 10) == (form == "kept"), kernel

    def softmax(rows):
        below = np.exp(rows - rows.max(-1, keepdims=True))
        return below / below.sum(-1, keepdims=True)

    x, d = x.astype(np.float64), x.astype(np.float64) + r
    expected = {"p": softmax(x)}
    if form == "kept":
        centered = d - d.mean(-1, keepdims=True)
        y = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * w + b
        expected = {"p": expected["p"] * softmax(y), "y": y}
    compare(infer("rehearsal", precision, seed=c), expected, BOUNDS[precision])


def extents(precision):
    write_model(EXTENTS)
    random = np.random.default_rng(4)
    x = {name: random.normal(size=shape).astype(np.float32) for name, shape in dict(a=(512, 60), b=(301, 60), c=(1, 60), m=701, n=33, o=(16, 50)).items()}
    x["m"][700], x["n"][32], x["o"][15, 49] = 9, 8, 7  # in the last vectors
    np.savez("inputs.npz", **x)
    program = call("para-opt", "model.onnx", "--target=cuda", "--emit=lower", "-o", "-")
    assert all(f'rt.varies = "{what}"' in program for what in ("rows", "terms", "elements"))
    x = {name: value.astype(np.float64) for name, value in x.items()}
    expected = {f"s{name}": (x[name] ** 2).sum(1) for name in "abc"} | {f"t{name}": x[name].max() for name in "mno"} | {f"e{name}": np.tanh(x[name]) for name in "an"}
    compare(infer("rehearsal", precision), expected, BOUNDS[precision])


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    {"sums": sums, "train": lambda *flags: train(flags), "online": online, "turns": turns, "extents": extents}[kind](*arguments)
