#!/usr/bin/env python3
"""Weights that are several in one, cut over as many ranks as they have blocks, and over others: each rank has its part of every product.

    test/Execution/fused.py

A layer of attention and a gated MLP, made here: queries, keys and values of one product, told apart by Split, or by Reshape and Gather
(with the three in front of the heads, or behind them); gate and up of one product. Over n ranks of `tensor` that divide the heads, each does
1/n of the operations of all products, and the numbers are the serial ones to 1e-11 (recipes.py). Exit status 1 if either does not hold.
"""

import math
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import parser

import harness
from recipes import Tally

BATCH, SEQUENCE, HIDDEN, HEADS = 4, 5, 24, 6
SIZE = HIDDEN // HEADS

#: How queries, keys and values [batch, heads, sequence, size] come out of `fused` [batch, sequence, 3 hidden].
def take_apart(shape, order):
    """Reshaped to `shape` and transposed to `order`, which puts queries, keys and values first."""
    return f"""
      five = Reshape(fused, {shape})
      moved = Transpose<perm = {order}>(five)
      q_heads = Gather<axis = 0>(moved, zero)
      k_heads = Gather<axis = 0>(moved, one)
      v_heads = Gather<axis = 0>(moved, two)"""


WAYS = {
    "Split": """
      q_flat, k_flat, v_flat = Split<axis = 2, num_outputs = 3>(fused)
      q = Reshape(q_flat, apart)
      k = Reshape(k_flat, apart)
      v = Reshape(v_flat, apart)
      q_heads = Transpose<perm = [0, 2, 1, 3]>(q)
      k_heads = Transpose<perm = [0, 2, 1, 3]>(k)
      v_heads = Transpose<perm = [0, 2, 1, 3]>(v)""",
    "Gather, three in front": take_apart("in_front", [2, 0, 3, 1, 4]),
    "Gather, three behind": take_apart("behind", [3, 0, 2, 1, 4]),
}


def make_model(path, way):
    """Writes the model and its data."""
    rng = np.random.default_rng(7)
    model = parser.parse_model(f"""
    <ir_version: 9, opset_import: ["" : 18]>
    fused (float[{BATCH}, {SEQUENCE}, {HIDDEN}] x, float[{BATCH}, {SEQUENCE}, {HIDDEN}] y) => (float loss) {{
      product = MatMul(x, qkv)
      fused = Add(product, qkv_bias)
      {WAYS[way]}
      k_turned = Transpose<perm = [0, 1, 3, 2]>(k_heads)
      scores = MatMul(q_heads, k_turned)
      shares = Softmax<axis = -1>(scores)
      mixed = MatMul(shares, v_heads)
      together = Transpose<perm = [0, 2, 1, 3]>(mixed)
      flat = Reshape(together, whole)
      attended = MatMul(flat, out)
      middle = Add(x, attended)
      gated = MatMul(middle, gate_up)
      gate, up = Split<axis = 2, num_outputs = 2>(gated)
      open = Sigmoid(gate)
      passed = Mul(open, up)
      down_product = MatMul(passed, down)
      result = Add(middle, down_product)
      error = Sub(result, y)
      square = Mul(error, error)
      loss = ReduceMean<keepdims = 0>(square)
    }}""")

    def add(name, value):
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))

    weights = {"qkv": (HIDDEN, 3 * HIDDEN), "qkv_bias": (3 * HIDDEN,), "out": (HIDDEN, HIDDEN), "gate_up": (HIDDEN, 6 * HIDDEN), "down": (3 * HIDDEN, HIDDEN)}
    for name, shape in weights.items():
        add(name, rng.normal(0, 0.3, shape).astype(np.float32))
    for name, shape in {"apart": (0, 0, HEADS, SIZE), "in_front": (0, 0, 3, HEADS, SIZE), "behind": (0, 0, HEADS, 3, SIZE), "whole": (0, 0, HIDDEN)}.items():
        add(name, np.array(shape, np.int64))
    for name, number in {"zero": 0, "one": 1, "two": 2}.items():
        add(name, np.array(number, np.int64))
    used = {name for node in model.graph.node for name in node.input}
    for initializer in list(model.graph.initializer):
        if initializer.name not in used:
            model.graph.initializer.remove(initializer)
    onnx.save(model, path)
    np.savez(path.with_suffix(".npz"), x=rng.normal(0, 1, (12, SEQUENCE, HIDDEN)).astype(np.float32), y=rng.normal(0, 1, (12, SEQUENCE, HIDDEN)).astype(np.float32))


def count_products(text, function):
    """Operations of all products in one function of a program."""
    body = re.search(rf"func.func @{function}\(.*?\n  }}", text, re.S).group(0)
    total = 0
    for contracted, left, result in re.findall(r"para\.dot .*? contract \[([\d, ]*)\] x .* : tensor<([\dx]+)x\w+>, tensor<.*?> -> tensor<([\dx]+)x\w+>", body):
        extents = [int(extent) for extent in left.split("x")]
        total += math.prod(int(extent) for extent in result.split("x")) * math.prod(extents[int(dim)] for dim in contracted.split(","))
    return total


def main():
    base = ["--precision=f64", "--optimizer=adamw:lr=0.01,weight_decay=0.1"]
    tally = Tally()
    print(f"{'way':<24}{'mesh':<20}{'products':>10}{'difference':>12}")
    with tempfile.TemporaryDirectory(prefix="para-") as folder:
        for number, way in enumerate(WAYS):
            path = pathlib.Path(folder) / f"fused{number}.onnx"
            make_model(path, way)
            tally.use(path, base, path.with_suffix(".npz"))
            for mesh in ("tensor=2", "tensor=3", "tensor=6", "data=2,tensor=3"):
                label, flags = f"{way:<24}{mesh:<20}", ["--mesh", mesh]
                try:
                    text = harness.call([harness.PARA_OPT, str(path), "--train", *base, *flags, "--emit=partition", "-o", "-"])
                    share = count_products(text, "spmd") / count_products(text, "main")
                    ranks = math.prod(int(size) for size in re.findall(r"\d+", mesh))
                    if share * ranks != 1:
                        tally.fail(f"{label}{share:10.4f}", f"a rank has not 1/{ranks} of the products")
                        continue
                    tally.add(f"{label}{share:10.4f}", tally.compare(flags, 1))
                except harness.Failed as error:
                    tally.fail(label, error)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
