#!/usr/bin/env python3
"""What --trace writes of a rehearsed program, against the calls of its device program; and what a profiler is told."""

import collections
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Execution"))
import harness

STEPS = 3
MICROSECONDS = 1.0  # times are written to a thousandth, and a float of the driver holds them
CATEGORY = {"launch": "kernel", "all_reduce": "all-reduce", "all_gather": "all-gather", "reduce_scatter": "reduce-scatter", "all_to_all": "all-to-all"}
PLANS = {"serial": (["--ranks=1"], 1, 1), "1f1b": (["--ranks=2", "--plan=pipeline", "--pipeline-schedule=1f1b", "--microbatches=3"], 2, 2),
         "zero1 x 1f1b": (["--mesh=data=2,pipeline=2", "--zero=1", "--clip-norm=1"], 4, 2)}


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def calls(text):
    """By stage: how often a step makes a call of each category."""
    manifest = json.loads(re.search(r' rt\.manifest = "([^"]*)"', text).group(1).replace("\\22", '"').replace("\\5C", "\\"))
    segments = {}
    for line in text.splitlines():
        if found := re.match(r"\s*rt\.segment @(\S+)", line):
            segments[current := found.group(1)] = collections.Counter()
        elif (found := re.match(r"\s*rt\.(\w+) \[", line)) and not found.group(1).startswith("event_"):
            segments[current][CATEGORY.get(found.group(1), found.group(1))] += 1
    return [sum((segments[action["segment"]] for action in stage["actions"]), collections.Counter()) for stage in manifest["stages"]]


def run(exe, data, folder, library, *flags):
    environment = {**os.environ, "PARA_TEST_RANGES": f"{folder}/ranges", "NVTX_INJECTION64_PATH": library}
    return subprocess.run([exe, "--data", str(data), "--steps", str(STEPS), "--progress=never", *flags], env=environment, capture_output=True, text=True, timeout=300)


def main():
    harness.require_shared()
    library = sys.argv[1]
    source = harness.SHARED / harness.MODELS["mlp"]
    data = source / "test_data_set_0"
    for plan, (flags, ranks, stages) in PLANS.items():
        with tempfile.TemporaryDirectory(prefix="para-") as folder:
            program = [harness.PARA_OPT, str(source / "model.onnx"), "--train", "--target=rehearsal", *flags]
            expected = calls(harness.call([*program, "--emit=lower", "-o", "-"]))
            harness.call([*program, "-o", f"{folder}/exe"])
            done = run(f"{folder}/exe", data, folder, library, "--trace", f"{folder}/trace.json")
            check(done.returncode == 0, f"{plan}: {done.stderr}")
            events = json.load(open(f"{folder}/trace.json"))["traceEvents"]
            names = {(event["name"], event["pid"], event.get("tid")): event["args"]["name"] for event in events if event["ph"] == "M"}
            check([names[("process_name", rank, None)] for rank in range(ranks)] == [f"rank {rank}" for rank in range(ranks)], f"{plan}: ranks are processes")
            spans = [event for event in events if event["ph"] == "X"]
            check({event["pid"] for event in spans} == set(range(ranks)), f"{plan}: all ranks are in the file")
            steps = {rank: [event for event in spans if event["pid"] == rank and event["cat"] == "step"] for rank in range(ranks)}
            for rank in range(ranks):
                mine = [event for event in spans if event["pid"] == rank and event["cat"] != "step"]
                rows = collections.defaultdict(list)
                for event in mine:
                    row = names[("thread_name", rank, event["tid"])]
                    rows[row].append(event)
                    check((event["cat"] in ("send", "recv")) == row.startswith("messages "), f"{plan}: messages have rows of their own: {event}")
                check("compute" in rows and len(steps[rank]) == STEPS, f"{plan}: rows of rank {rank}: {list(rows)}")
                stage = rank * stages // ranks
                for step in steps[rank]:
                    first, last = step["ts"] - MICROSECONDS, step["ts"] + step["dur"] + MICROSECONDS
                    inside = [event for event in mine if first <= event["ts"] and event["ts"] + event["dur"] <= last]
                    found = collections.Counter(event["cat"] for event in inside)
                    check(found == expected[stage], f"{plan}: rank {rank}: a step's operations are {found}, and its calls {expected[stage]}")
                check(len(mine) == STEPS * sum(expected[stage].values()), f"{plan}: nothing is outside of a step")
                for row, its in rows.items():
                    for before, after in zip(its, its[1:]):
                        done = before["dur"] >= 0 and before["ts"] + before["dur"] <= after["ts"] + MICROSECONDS
                        check(done, f"{plan}: rank {rank}, {row}: {before} is not done when {after} begins")
            for step in range(STEPS):  # one clock: a step of all ranks has a moment in common
                begins, ends = zip(*((its[step]["ts"], its[step]["ts"] + its[step]["dur"]) for its in steps.values()))
                check(max(begins) < min(ends), f"{plan}: step {step} of the ranks")
            told = [open(path).read().splitlines() for path in glob.glob(f"{folder}/ranges.*")]
            threads = sorted(line for lines in told for line in lines if line.startswith("thread "))
            check(threads == [f"thread rank {rank}" for rank in range(ranks)], f"{plan}: threads have names: {threads}")
            for lines in told:
                rank = int(next(line for line in lines if line.startswith("thread ")).rsplit(" ", 1)[1])
                pushed = collections.Counter(line[5:] for line in lines if line.startswith("push "))
                traced = collections.Counter(event["name"] for event in spans if event["pid"] == rank and event["cat"] != "step")
                check(pushed == traced and sum(pushed.values()) == lines.count("pop"), f"{plan}: rank {rank}: a profiler is told of other operations than the trace")
            wrong = run(f"{folder}/exe", data, folder, "/nowhere.so")
            check(wrong.returncode == 1 and "para: NVTX_INJECTION64_PATH: /nowhere.so" in wrong.stderr, wrong.stderr)
            print(f"{plan}: {len(spans)} spans")


if __name__ == "__main__":
    main()
