"""Arenas and losses of programs against those of the first: NAME.jsonl has the metrics of the program NAME."""

import json
import subprocess
import sys


def arena(program):
    return max(json.loads(subprocess.run([program, "--info=json"], capture_output=True, text=True, check=True).stdout)["arena_bytes"])


def losses(program):
    return [json.loads(line)["loss"] for line in open(f"{program}.jsonl")]


first, *others = sys.argv[1:]
for other in others:
    less = "less" if arena(other) < 0.9 * arena(first) else f"{arena(other)} of {arena(first)} bytes"
    same = all(abs(a - b) <= 1e-12 * abs(a) for a, b in zip(losses(first), losses(other), strict=True))
    print(f"{other.rsplit('.', 1)[1]}: {less}, {'same' if same else 'other'} losses")
