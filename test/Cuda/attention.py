#!/usr/bin/env python3
"""Attention in many forms: kernels that store no scores, rehearsed, against the host, which stores them.

    test/Cuda/attention.py [--cases causal,gqa ...] [--precision f64 | f32 | bf16 | f16] [--seeds N] [--keep FOLDER] [--on gpu]

Each case is a small model with weights before the queries, keys and values, and behind the sum, trained for two steps; gradients, parameters
and loss are compared (over each tensor's largest element), and how many kernels of attention the program has. In 16 bits both are held against the
host's f64: the rehearsed program, which rounds at other places, may be twice as far from it as the host's of 16 bits is. Exit status 1 if
a case fails.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.parser

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Execution"))
import harness
import recipes

BOUNDS = {"f64": 1e-11, "f32": 2e-5}
LOW = float(np.finfo(np.float32).min)


class Case:
    """Sizes: batch, queries, keys, heads, heads of keys, width of a head, width of a value's head. `kernels`: of attention, in training."""

    def __init__(self, batch=2, queries=40, keys=None, heads=2, groups=None, width=16, value=None, mask="", between="", kernels=3, leaves=False, frozen="", learned="", in_f64=None):
        self.batch, self.queries, self.keys, self.heads = batch, queries, keys or queries, heads
        self.groups, self.width, self.value = groups or heads, width, value or width
        self.in_f64 = kernels if in_f64 is None else in_f64  # whose operands take twice the memory
        self.mask, self.between, self.kernels, self.leaves, self.frozen, self.learned = mask, between, kernels, leaves, frozen, learned

    def model(self):
        b, q, k, h, g, d, e = self.batch, self.queries, self.keys, self.heads, self.groups, self.width, self.value
        random = np.random.default_rng(7)
        weights = {"wq": (24, h * d), "wk": (24, g * d), "wv": (24, g * e), "wo": (h * e, 24)}
        constants = {"scale": np.float32(d ** -0.5), "causal": np.triu(np.full((1, 1, q, k), -np.inf, np.float32), 1),
                     "lowest": np.triu(np.full((1, 1, q, k), LOW, np.float32), 1), "window": self.window(), "hidden": self.hidden(), "bias": self.bias(),
                     "allowed": np.tril(np.ones((1, 1, q, k), bool)), "minusone": np.float32(-1e9), "minf": np.float32(-np.inf),
                     "qshape": np.array([b, q, h, d]), "kshape": np.array([b, k, g, d]), "vshape": np.array([b, k, g, e]), "oshape": np.array([b, q, h * e]),
                     "kgroups": np.array([b, g, h // g, k, d]), "vgroups": np.array([b, g, h // g, k, e]), "kheads": np.array([b, h, k, d]),
                     "vheads": np.array([b, h, k, e]), "two": np.array([2]), "cap": np.float32(2.0), "rows": np.arange(q)[:, None], "columns": np.arange(k)[None], "zero": np.float32(0),
                     "lowest1": np.float32(LOW), "more": np.float32(0.25)}
        repeat = """
  k4 = Unsqueeze(kt, two)
  k5 = Expand(k4, kgroups)
  kr = Reshape(k5, kheads)
  v4 = Unsqueeze(vt, two)
  v5 = Expand(v4, vgroups)
  vr = Reshape(v5, vheads)""" if g != h else """
  kr = Identity(kt)
  vr = Identity(vt)"""
        mask = {"": "masked = Identity(capped)", "causal": "masked = Add(capped, causal)", "lowest": "masked = Add(capped, lowest)",
                "window": "masked = Add(capped, window)", "hidden": "masked = Add(capped, hidden)", "bias": "masked = Add(capped, bias)",
                "where": "masked = Where(allowed, capped, minf)", "where1e9": "masked = Where(allowed, capped, minusone)",
                "input": "masked = Add(capped, m)",
                # By the numbers of rows and columns, which is known when compiling, as large constants are not.
                "places": "before = GreaterOrEqual(rows, columns)\n  masked = Where(before, capped, minf)",
                "places and input": "before = GreaterOrEqual(rows, columns)\n  low = Where(before, zero, lowest1)\n  m0 = Add(capped, low)\n  masked = Add(m0, m)"}[self.mask]
        cap = "divided = Div(scaled, cap)\n  bent = Tanh(divided)\n  capped = Mul(bent, cap)" if self.between == "cap" else "capped = Identity(scaled)"
        dropped = {"dropout": "dropped = Mul(p, n)", "more": "dropped = Add(p, more)"}.get(self.between, "dropped = Identity(p)")
        inputs = f"float[{b},{q},24] x, float[{b},{k},24] c" + (f", float[{b},1,{q},{k}] m" if "input" in self.mask else "") + \
                 (f", float[{b},{h},{q},{k}] n" if self.between == "dropout" else "")
        end = "y0 = MatMul(o2, wo)\n  square = Mul(p, p)\n  most = ReduceMean <axes = [1, 3], keepdims = 0> (square)\n  last = Unsqueeze(most, two)\n  y = Add(y0, last)" if self.leaves is True else "y0 = MatMul(o2, wo)\n  greatest = ReduceMax <axes = [3], keepdims = 0> (masked)\n  most = ReduceMean <axes = [1], keepdims = 0> (greatest)\n  last = Unsqueeze(most, two)\n  y = Add(y0, last)" if self.leaves else "y = MatMul(o2, wo)"
        text = f"""<ir_version: 8, opset_import: ["" : 17]>
attention ({inputs}) => (float[{b},{q},24] y) {{
  q2 = MatMul(x, wq)
  k2 = MatMul(c, wk)
  v2 = MatMul(c, wv)
  q3 = Reshape(q2, qshape)
  k3 = Reshape(k2, kshape)
  v3 = Reshape(v2, vshape)
  qt = Transpose <perm = [0, 2, 1, 3]> (q3)
  kt = Transpose <perm = [0, 2, 1, 3]> (k3)
  vt = Transpose <perm = [0, 2, 1, 3]> (v3){repeat}
  kk = Transpose <perm = [0, 1, 3, 2]> (kr)
  s = MatMul(qt, kk)
  scaled = Mul(s, scale)
  {cap}
  {mask}
  p = Softmax <axis = -1> (masked)
  {dropped}
  o = MatMul(dropped, vr)
  ot = Transpose <perm = [0, 2, 1, 3]> (o)
  o2 = Reshape(ot, oshape)
  {end}
}}"""
        model = onnx.parser.parse_model(text)
        used = {name for node in model.graph.node for name in node.input}
        for name, shape in weights.items():
            model.graph.initializer.append(onnx.numpy_helper.from_array((random.normal(size=shape) / 4).astype(np.float32), name))
        for name, value in constants.items():
            tensor = onnx.numpy_helper.from_array(np.asarray(value), name)
            if name in used and name == self.learned:
                model.graph.initializer.append(tensor)
            elif name in used:
                model.graph.node.insert(0, onnx.helper.make_node("Constant", [], [name], value=tensor))
        return model

    def window(self):
        rows, columns = np.indices((self.queries, self.keys))
        return np.where((columns <= rows) & (columns > rows - 9), 0, -np.inf).astype(np.float32)[None, None]

    def hidden(self):
        """One row sees nothing: with the lowest number, all columns alike."""
        mask = np.triu(np.full((self.queries, self.keys), LOW, np.float32), 1)
        mask[min(3, self.queries - 1)] = LOW
        return mask[None, None]

    def bias(self):
        distance = -np.abs(np.subtract.outer(np.arange(self.queries), np.arange(self.keys)))
        return (distance[None] * 2.0 ** -np.arange(1, self.heads + 1)[:, None, None]).astype(np.float32)[None]

    def data(self):
        random = np.random.default_rng(3)
        arrays = {"x": random.normal(size=(self.batch, self.queries, 24)), "c": random.normal(size=(self.batch, self.keys, 24)),
                  "t": random.normal(size=(self.batch, self.queries, 24))}
        if self.mask == "input":
            arrays["m"] = np.where(random.random((self.batch, 1, self.queries, self.keys)) < 0.3, LOW, 0)
        elif "input" in self.mask:  # the first columns, so that the first rows see nothing at all
            arrays["m"] = np.broadcast_to(np.where(np.arange(self.keys) < self.keys // 2, LOW, 0), (self.batch, 1, self.queries, self.keys))
        if self.between == "dropout":
            arrays["n"] = (random.random((self.batch, self.heads, self.queries, self.keys)) < 0.8) / 0.8
        return {name: array.astype(np.float32) for name, array in arrays.items()}


CASES = {
    "plain": Case(),
    "causal": Case(queries=100, mask="causal"),
    "lowest": Case(queries=150, mask="lowest"),
    "where": Case(queries=70, mask="where"),
    "where1e9": Case(queries=70, mask="where1e9"),
    "window": Case(queries=200, heads=1, mask="window"),
    "hidden row": Case(queries=70, mask="hidden"),
    "padding": Case(mask="input"),
    "places": Case(queries=150, mask="places"),
    "padded on the left": Case(queries=150, mask="places and input"),
    "more than a softmax": Case(queries=150, mask="places", between="more"),
    "bias": Case(queries=65, mask="bias"),
    "learned bias": Case(queries=20, mask="bias", learned="bias"),
    "cap": Case(mask="causal", between="cap"),
    "dropout": Case(between="dropout"),
    "gqa": Case(heads=6, groups=2, mask="causal"),
    "mqa": Case(heads=3, groups=1, queries=17),
    "cross": Case(queries=33, keys=71),
    "one query": Case(queries=1, keys=67),
    "one key": Case(queries=5, keys=1, kernels=3),
    "odd width": Case(width=5, value=7),
    "width 1": Case(width=1, value=1),
    "wide": Case(batch=1, heads=1, queries=70, width=128),
    "widest": Case(batch=1, heads=1, queries=40, width=160, value=32),
    "too wide": Case(batch=1, heads=1, queries=20, width=512, kernels=0),
    "too wide backward": Case(batch=1, heads=1, queries=20, width=192, in_f64=0),
    "one head": Case(batch=1, heads=1, queries=96),
    "scores leave": Case(leaves=True),
    "scores leave causal": Case(queries=100, mask="lowest", leaves=True),
    "maximum leaves": Case(batch=1, queries=67, width=64, leaves="maximum", kernels=0),
    "frozen queries": Case(frozen="wq", kernels=2),
    "frozen values": Case(frozen="wv"),
}


def report(model, flags):
    return json.loads(harness.call([harness.PARA_OPT, str(model), "--train", *flags, "--target=cuda", "--report=kernels", "--json"]))


def train(model, flags, data):
    run = harness.train(model, flags, steps=2, data=data)
    for name in ("causal", "window"): # A large constant is told as a parameter; differences of infinities say nothing.
        run.state.pop(name, None)
    return run


def check(case, folder, precision, seeds, target):
    """(largest difference, cause or "")."""
    model, data = folder / "model.onnx", folder / "data.npz"
    onnx.save(case.model(), str(model))
    np.savez(data, **case.data())
    flags = ["--loss=mse:target=t", "--optimizer=sgd:lr=0.1", f"--precision={precision}"] + ([f"--freeze={case.frozen}"] if case.frozen else [])
    kernels = report(model, flags)["families"].get("attention", {}).get("launches", 0)
    wanted = case.in_f64 if precision == "f64" else case.kernels
    if kernels != wanted:
        return 0.0, f"{kernels} kernels of attention instead of {wanted}"
    serial, bound = train(model, flags, data), BOUNDS.get(precision)
    if bound is None:
        exact = train(model, [flag.replace(precision, "f64") for flag in flags], data)
        bound, serial = 2 * recipes.difference(serial, exact)[0], exact
    worst = (0.0, "")
    for seed in range(seeds):
        os.environ["PARA_REHEARSE_SEED"] = str(seed)
        worst = max(worst, recipes.difference(train(model, [*flags, f"--target={target}"], data), serial))
    return worst[0], "" if worst[0] <= bound else f"{worst[1]}: above {bound:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--precision", choices=["f64", "f32", "bf16", "f16"], default="f64")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--on", choices=["rehearsal", "gpu"], default="rehearsal")
    parser.add_argument("--keep", help="a folder in which the models stay")
    arguments = parser.parse_args()
    failed = 0
    for name in arguments.cases.split(","):
        with tempfile.TemporaryDirectory(prefix="para-") as scratch:
            folder = pathlib.Path(arguments.keep or scratch) / name.replace(" ", "-")
            folder.mkdir(parents=True, exist_ok=True)
            try:
                worst, cause = check(CASES[name], folder, arguments.precision, arguments.seeds, "cuda" if arguments.on == "gpu" else "rehearsal")
            except harness.Failed as error:
                worst, cause = float("inf"), str(error)
        failed += bool(cause)
        print(f"{name:<24}{worst:>12.1e}" + (f"  FAILED: {cause}" if cause else ""), flush=True)
    print(f"{len(arguments.cases.split(',')) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
