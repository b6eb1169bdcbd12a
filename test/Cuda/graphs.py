#!/usr/bin/env python3
"""Rehearsed programs with their steps as CUDA graphs and call by call: the same numbers, and each says how it ran."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Execution"))
import harness

STEPS = 4
PLANS = {"serial": ["--ranks=1"], "1f1b": ["--ranks=2", "--plan=pipeline", "--pipeline-schedule=1f1b", "--microbatches=3"],
         "zero1 x 1f1b": ["--mesh=data=2,pipeline=2", "--zero=1", "--clip-norm=1"]}


def run(exe, folder, data, name, *flags, graphs="1", fails=False):
    """(what it said, metrics, state)."""
    command = [exe, "--data", str(data), "--validate", str(data), "--validate-every=2", "--steps", str(STEPS), "--progress=never", "--verbose",
               "--metrics", f"{folder}/{name}.jsonl", "--dump-state", f"{folder}/{name}.npz", *flags]
    done = subprocess.run(command, env={**os.environ, "PARA_CUDA_GRAPHS": graphs}, capture_output=True, text=True, timeout=300)
    if (done.returncode != 0) != fails:
        sys.exit(f"{name}: status {done.returncode}: {done.stderr}")
    if fails:
        return done.stderr, None, None
    return done.stderr, [json.loads(line) for line in open(f"{folder}/{name}.jsonl")], dict(np.load(f"{folder}/{name}.npz"))


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def main():
    harness.require_shared()
    source = harness.SHARED / harness.MODELS["mlp"]
    data = source / "test_data_set_0"
    for plan, flags in PLANS.items():
        with tempfile.TemporaryDirectory(prefix="para-") as folder:
            exe = f"{folder}/exe"
            harness.call([harness.PARA_OPT, str(source / "model.onnx"), "--train", "--target=rehearsal", *flags, "-o", exe])
            ranks = 4 if "x" in plan else 1 if plan == "serial" else 2
            said, metrics, state = run(exe, folder, data, "graph")
            nodes = [int(n) for n in re.findall(r"para: rank \d+ runs its step as a CUDA graph of (\d+) nodes", said)]
            check(len(nodes) == ranks and min(nodes) > 10, f"{plan}: each rank tells of its graph: {said}")
            check(["graph_nodes" in line for line in metrics] == [False] + [True] * (STEPS - 1), f"{plan}: the first step is run call by call: {metrics}")
            check(all(line["graph_nodes"] > 10 for line in metrics[1:]), f"{plan}: nodes are counted")
            plain, reference, expected = run(exe, folder, data, "calls", graphs="0")
            check(plain.count("runs its step call by call: PARA_CUDA_GRAPHS=0") == ranks, f"{plan}: what is switched off is told: {plain}")
            check(not any("graph_nodes" in line for line in reference), f"{plan}: no graph without graphs")
            for key in ("loss", "grad_norm", "validation_loss", "bytes_sent_per_rank"):
                check([line.get(key) for line in metrics] == [line.get(key) for line in reference], f"{plan}: {key} differs")
            check(state.keys() == expected.keys() and all((state[name] == expected[name]).all() for name in state), f"{plan}: the state differs")
            traced, _, _ = run(exe, folder, data, "trace", "--trace", f"{folder}/trace.json")
            check(traced.count("runs its step call by call: --trace asks when each operation runs") == ranks, f"{plan}: why there is no graph is told: {traced}")
            said, _, _ = run(exe, folder, data, "wrong", graphs="yes", fails=True)
            check("para: PARA_CUDA_GRAPHS=yes: 1 runs steps as CUDA graphs where that is possible, 0 does not" in said, said)
            print(f"{plan}: {nodes} nodes")


if __name__ == "__main__":
    main()
