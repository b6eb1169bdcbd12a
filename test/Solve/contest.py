"""The contest's instances (../shared/iopddl) within their time limits: a table of cost, best known cost, bound, gap and seconds.

    contest.py                         all eight at their limits on two threads (24 minutes)
    contest.py --instances B,G --time 10
    contest.py --scale 0.25            a quarter of each limit

An instance passes if its answer, checked here anew, costs what the tool says and at most the best known cost, with a bound not above it,
within the time. The example is compared with enumeration. PARA_SHARED and PARA_SOLVE name other places.
"""

import argparse
import csv
import gzip
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(os.environ.get("PARA_SHARED", ROOT.parent / "shared")) / "iopddl"
PARA_SOLVE = os.environ.get("PARA_SOLVE") or str(pathlib.Path(os.environ.get("PARA_OPT", ROOT / "build" / "bin" / "para-opt")).parent / "para-solve")


def read(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        return json.load(file)["problem"]


def get_cost(problem, choice):
    """Sum over nodes and edges."""
    nodes, edges = problem["nodes"], problem["edges"]
    total = sum(costs[i] for costs, i in zip(nodes["costs"], choice, strict=True))
    for (a, b), costs in zip(edges["nodes"], edges["costs"], strict=True):
        total += costs[choice[a] * len(nodes["costs"][b]) + choice[b]]
    return total


def get_peak(problem, choice):
    """The largest usage at any time; what ends at a time no longer counts there."""
    changes = {}
    nodes = problem["nodes"]
    for (start, end), usages, i in zip(nodes["intervals"], nodes["usages"], choice, strict=True):
        if start < end:
            changes[start] = changes.get(start, 0) + usages[i]
            changes[end] = changes.get(end, 0) - usages[i]
    now = peak = 0
    for when in sorted(changes):
        now += changes[when]
        peak = max(peak, now)
    return peak


def enumerate_all(problem):
    """The least cost of all choices within the limit."""
    ranges = [range(len(costs)) for costs in problem["nodes"]["costs"]]
    return min(get_cost(problem, c) for c in itertools.product(*ranges) if get_peak(problem, c) <= problem["usage_limit"])


def solve(path, seconds, arguments):
    """Runs the tool; returns its answer, what is wrong with it, and the seconds by our clock."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "solution.json"
        command = [PARA_SOLVE, str(path), "--time", str(seconds), "--threads", str(arguments.threads), "--seed", str(arguments.seed), "-o", str(out)]
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds * 2 + 60)
        taken = time.monotonic() - start
        if done.returncode:
            return None, done.stderr.strip(), taken
        answer = json.loads(done.stdout)
        choice = json.loads(out.read_text())
    problem = read(path)
    if get_cost(problem, choice) != answer["cost"]:
        return answer, f"costs {get_cost(problem, choice)}", taken
    if "usage_limit" in problem and get_peak(problem, choice) > problem["usage_limit"]:
        return answer, f"uses {get_peak(problem, choice)}, the limit is {problem['usage_limit']}", taken
    if answer["lower_bound"] > answer["cost"]:
        return answer, "the bound is above the cost", taken
    if taken > seconds:
        return answer, f"took {taken:.1f} s of {seconds:g}", taken
    return answer, None, taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--instances", help="letters, separated by commas (default all, and the example)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the time limits")
    parser.add_argument("--time", type=float, help="seconds for each, instead of its limit")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if not FOLDER.is_dir():
        print(f"SKIPPED: no instances at {FOLDER} (set PARA_SHARED)")
        return 77
    with open(FOLDER / "best_known.csv") as file:
        known = {row["instance"]: row for row in csv.DictReader(line for line in file if "," in line)}
    names = arguments.instances.split(",") if arguments.instances else ["example", *known]
    passed = failed = 0
    print(f"{'':8} {'cost':>14} {'best known':>14} {'cost/best':>9} {'lower bound':>14} {'gap':>8} {'seconds':>8} {'limit':>6}")
    for name in names:
        path = FOLDER / (f"{name}.json" if name == "example" else f"{name}.json.gz")
        limit = arguments.time or (10.0 if name == "example" else float(known[name]["timeout_s"]) * arguments.scale)
        answer, wrong, taken = solve(path, limit, arguments)
        best = enumerate_all(read(path)) if name == "example" else int(known[name]["best_cost"])
        if answer:
            if not wrong and (answer["cost"] > best or (name == "example" and answer["lower_bound"] != best)):
                wrong = "more than the best known" if answer["cost"] > best else "not proved"
            print(f"{name:8} {answer['cost']:>14} {best:>14} {answer['cost'] / max(1, best):>9.5f} {answer['lower_bound']:>14} {answer['gap']:>8.3%} {taken:>8.1f} {limit:>6g}", end="")
        else:
            print(f"{name:8} {'-':>14} {best:>14}", end="")
        print(f"  FAILED: {wrong}" if wrong else "", flush=True)
        passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
