"""Compares the losses of two runs step by step, as far as both have the step; the first one must fall."""
import json
import sys

first, second = ({line["step"]: line["loss"] for line in map(json.loads, open(path))} for path in sys.argv[1:])
common = sorted(set(first) & set(second))
assert len(common) >= 10, common
for step in common:
    assert abs(first[step] - second[step]) <= 1e-4 * abs(first[step]), (step, first[step], second[step])
assert first[max(first)] < 0.9 * first[0], first
