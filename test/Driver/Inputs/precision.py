"""Checks of runs in 16 bits. precision.py follows MORE LESS BOUND: losses of two metrics differ somewhere and nowhere by more than BOUND of themselves;
same A B [FIRST]: two states (.npz) or metrics (.jsonl, from step FIRST on) are equal to the bit; f32 DIR: a checkpoint holds nothing but f32;
skips METRICS SCALE: some of the first steps overflowed, and each that did halved the scale that began at SCALE;
shrink METRICS SCALE COMMAND...: runs the command with the scale that was left; counts A B: after its skipped steps, A goes on as B begins;
narrow MODEL OUT TYPE: the model with all its f32 of 16 bits;
smaller A B PART: --info=json of A tells an arena of at most PART of B's; products A B: --report=kernels --json tells half the bytes for products;
vectors A: it tells 16 bytes for each access of an elementwise kernel or a norm to what is large."""
import glob
import json
import subprocess
import sys

import numpy as np


def read(path):
    return [json.loads(line) for line in open(path)]


def follows(one, other, bound):
    losses = [(x["loss"], y["loss"]) for x, y in zip(read(one), read(other), strict=True)]
    worst = max(abs(x - y) / abs(y) for x, y in losses)
    assert len(losses) > 9 and losses[-1][1] < losses[0][1], losses
    assert 0 < worst <= float(bound), worst


def same(one, other, first=0):
    if one.endswith(".jsonl"):
        keys = ("step", "loss", "grad_norm", "loss_scale")
        rows = [[{key: line.get(key) for key in keys} for line in read(path) if line["step"] >= int(first)] for path in (one, other)]
        assert rows[0] and rows[0] == rows[1], rows
        return
    left, right = np.load(one), np.load(other)
    assert set(left.files) == set(right.files), set(left.files) ^ set(right.files)
    for name in left.files:
        assert left[name].tobytes() == right[name].tobytes(), name


def tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return {name: entry["dtype"] for name, entry in header.items() if name != "__metadata__"}


def f32(folder):
    files = glob.glob(f"{folder}/step-*/*.safetensors")
    found = {dtype for path in files for dtype in tensors(path).values()}
    assert files and found == {"F32"}, found


def count_skipped(rows):
    skipped = [line["grad_norm"] is None for line in rows].index(False)
    assert skipped > 2, rows
    return skipped


def skips(metrics, scale):
    count_skipped(read(metrics))
    scale = float(scale)
    for line in read(metrics):
        scale = scale / 2 if line["grad_norm"] is None else scale
        assert line["loss_scale"] == scale, line


def shrink(metrics, scale, *command):
    subprocess.run([*command, "--loss-scale", str(float(scale) / 2 ** count_skipped(read(metrics)))], check=True)


def counts(one, other):
    rows = [[(line["loss"], line["grad_norm"]) for line in read(path)] for path in (one, other)]
    skipped = count_skipped(read(one))
    length = len(rows[0]) - skipped
    assert length > 3 and rows[0][skipped:] == rows[1][:length], rows


def narrow(model, out, kind):
    sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/Execution")
    import inference
    import onnx

    onnx.save(inference.narrow(onnx.load(model), kind), out)


def smaller(one, other, part):
    bytes_of = [json.load(open(path))["arena_bytes"][0] for path in (one, other)]
    assert bytes_of[0] <= float(part) * bytes_of[1], bytes_of


def products(one, other):
    bytes_of = [sum(row["bytes"] * row["launches"] for row in json.load(open(path))["kernels"] if row["family"] == "product") for path in (one, other)]
    # Gradients of weights are f32.
    assert 0.5 <= bytes_of[0] / bytes_of[1] <= 0.6, bytes_of


def vectors(path):
    rows = [row for row in json.load(open(path))["kernels"] if row["family"] in ("elementwise", "norm")]
    widths = [buffer["instruction_bytes"] for row in rows for buffer in row["buffers"] if buffer["minimal_bytes"] >= 4096]
    assert len(widths) > 20 and set(widths) == {16}, widths


globals()[sys.argv[1]](*sys.argv[2:])
