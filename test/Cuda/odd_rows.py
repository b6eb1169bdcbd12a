"""The parts of odd-rows.test: makes inputs, looks for narrow accesses to large buffers in a report, compares outputs."""

import json
import sys

import numpy as np

SHAPES = {"x": (333, 197), "r": (333, 197), "w": (197,), "b": (197,), "z": (7, 50, 101), "s": (333, 1)}

if sys.argv[1] == "inputs":
    random = np.random.default_rng(1)
    np.savez(sys.argv[2], **{name: random.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()})
elif sys.argv[1] == "wide":
    kernels = json.load(open(sys.argv[2]))["kernels"]
    large = [(kernel["name"], buffer) for kernel in kernels for buffer in kernel["buffers"] if buffer["minimal_bytes"] > 100000]
    assert len(large) >= 8, large
    assert all(buffer["instruction_bytes"] == 16 and "narrow" not in buffer for _, buffer in large), large
else:
    host, other = np.load(sys.argv[2]), np.load(sys.argv[3])
    worst = {name: float(np.max(np.abs(host[name] - other[name]))) for name in host}
    assert len(worst) == 5 and all(error <= float(sys.argv[4]) for error in worst.values()), worst
