"""Whether the numbers of --report=kernels --json fit together: kernels.py REPORT LAYERS BATCH [MICROBATCHES], of the GPT of kernels.test."""

import json
import sys

report = json.load(open(sys.argv[1]))
layers, batch, microbatches = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 1
kernels, families, step = report["kernels"], report["families"], report["step"]

for key in ("launches", "bytes", "minimal_bytes", "flops"):
    total = sum(k[key] * (1 if key == "launches" else k["launches"]) for k in kernels)
    assert abs(total - step[key]) <= 1e-9 * total, key
    assert abs(sum(f[key] for f in families.values()) - total) <= 1e-9 * total, key

# Products of a layer: four of its weights, each with two of the backward pass; and the head.
products = sum(k["launches"] for k in kernels if k["family"] == "product")
assert products == microbatches * 3 * (4 * layers + 1), products
rows, hidden, vocab = batch * 64, 64, 256
weights = layers * 12 * hidden * hidden + vocab * hidden
assert families["product"]["flops"] == 6 * rows * weights, families["product"]["flops"]

# Attention: a kernel forward, with two products; backward one for the queries with three and one for keys and values with four.
attention = layers * 2 * batch * 64 * 64 * hidden
assert families["attention"]["launches"] == microbatches * 3 * layers, families["attention"]
assert 9 * attention < families["attention"]["flops"] < 2 * 9 * attention, (families["attention"]["flops"], attention)

for kernel in kernels:
    assert kernel["bytes"] >= kernel["minimal_bytes"] > 0 or kernel["bytes"] == 0, kernel
    assert kernel["family"] not in ("norm", "softmax", "elementwise", "optimizer") or kernel["bytes_ratio"] <= 1.05, kernel
    if "buffers" in kernel:
        assert kernel["blocks"] > 0 and kernel["threads"] % 32 == 0, kernel
        assert kernel["bytes"] == sum(b["loaded_bytes"] + b["stored_bytes"] for b in kernel["buffers"]), kernel

# AdamW reads and writes a parameter and its two moments, and reads its gradient: 28 bytes an element; beside that are numbers and sums.
parameters = weights + layers * 13 * hidden + 2 * hidden + 64 * hidden
assert 28 * parameters <= families["optimizer"]["bytes"] <= 1.2 * 28 * parameters, (families["optimizer"], 28 * parameters)
assert families["optimizer"]["launches"] < 30, families["optimizer"]

# The gradient of the table of tokens: zeroed whole, tokens (8 bytes) are sorted, then a row is read, added to and written for each token.
assert families["scatter"]["bytes"] == microbatches * 4 * vocab * hidden + (8 + 4 + 4) * rows + 2 * 4 * rows * hidden, families["scatter"]
assert families["scatter"]["launches"] == 3 * microbatches, families["scatter"]
