"""Checks what --explain --json says against what para-opt says when asked for it directly.

explain.py MODEL MACHINE FLAGS...   sums, differences, and what-ifs by their machines
explain.py --ways MODEL MACHINE FLAGS...   the ways out of a plan that does not fit
"""
import json
import subprocess
import sys


def run(model, machine, *flags):
    command = ["para-opt", model, "--train", f"--machine={machine}", "--simulate", "--json", *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr  # 3: the plan does not fit, which the JSON says too
    return json.loads(done.stdout)


def near(a, b):
    assert abs(a - b) <= 1e-6 * max(abs(a), abs(b)), (a, b)


def check_sums(plan):
    why = plan["explain"]
    peak = why["peak"]
    assert peak["bytes"] == max(plan["peak_bytes"]) and plan["peak_bytes"][peak["stage"]] == peak["bytes"]
    assert abs(sum(item["bytes"] for item in peak["items"]) - peak["bytes"]) < 16
    kept = sum(item["bytes"] for item in peak["items"] if item["name"] == "activations")
    assert abs(sum(item["bytes"] for item in peak["activations"]) - kept) < 64, (peak, kept)
    layers = [row["layers"] for row in why["stages"]]
    assert layers[0][0] == 0 and all(a[1] == b[0] for a, b in zip(layers, layers[1:])), layers
    assert layers[-1][1] == sum(layer["layers"] for layer in why["layers"])
    near(sum(layer["share"] for layer in why["layers"]), 1)
    for layer in why["layers"]:  # kernels and messages make up a layer's seconds
        near(sum(part["seconds"] for part in layer["parts"]), layer["seconds"]) if layer["layers"] == 1 else None
    names = [entry["name"] for entry in why["alternatives"]]
    assert names[:7] == ["ddp", "zero1", "zero2", "zero3", "tensor", "pipeline", "model-parallel"], names
    for entry in why["alternatives"]:
        if "seconds_per_step" in entry:
            near(entry["seconds_per_step"] - plan["seconds_per_step"], entry["more_seconds"]) if entry["more_seconds"] else None
            assert entry["reason"] or entry["more_seconds"] <= 0, entry
        else:
            assert entry["reason"], entry
    assert why["certificate"]["schedule_verified"] and why["certificate"]["lower_bound"] == plan["lower_bound"]


def main():
    ways = sys.argv[1] == "--ways"
    model, machine, *flags = sys.argv[1 + ways :]
    plan = run(model, machine, "--explain", *flags)
    check_sums(plan)
    if ways:
        refusal = plan["explain"]["refusal"]
        assert not plan["fits"] and refusal["peak_bytes"] > refusal["room_bytes"]
        assert sum(cause["bytes"] for cause in refusal["causes"]) > refusal["room_bytes"]
        assert sum(cause["bytes"] for cause in refusal["causes"][:-1]) <= refusal["room_bytes"]
        fitting = [way for way in refusal["ways_out"] if way["fits"] and way["change"].startswith("--")]
        assert fitting, refusal
        for way in refusal["ways_out"]:
            if way["change"].startswith("--mesh"):
                rest = [flag for flag in flags if not flag.startswith("--plan")]
            elif way["change"].startswith("--zero"):  # a recipe has its own
                rest = ["--mesh", "data=%d,tensor=1,pipeline=1" % plan["plan"]["mesh"]["data"]]
                rest += ["--recompute=none", "--microbatches", str(plan["plan"]["microbatches"])]
            else:
                rest = flags if way["change"].startswith("--") else None
            if rest is None:
                continue
            for flag in way["change"].split(" --"):
                name = flag.lstrip("-").replace("=", " ").split()[0]
                rest = [f for i, f in enumerate(rest) if not f.startswith("--" + name) and not (i and rest[i - 1] == "--" + name and "=" not in rest[i - 1])]
            again = run(model, machine, *rest, *way["change"].split())
            near(again["seconds_per_step"], way["seconds_per_step"])
            assert max(again["peak_bytes"]) == way["peak_bytes"] and again["fits"] == way["fits"], (way, again["plan"])
            assert max(plan["peak_bytes"]) - way["peak_bytes"] == way["saved_bytes"]
        return
    # `name:1xN` with one node and one device more.
    name, devices = machine.split(":1x")
    others = {"one more device": f"{name}:1x{int(devices) + 1}", f"one more node ({devices} more devices)": f"{name}:2x{devices}"}
    asked = 0
    for what in plan["explain"]["what_ifs"]:
        if what["change"] in others and what["gain"] > 0:
            again = run(model, others[what["change"]], *flags)
            near(again["seconds_per_step"], what["seconds_per_step"])
            near(plan["seconds_per_step"] / what["seconds_per_step"] - 1, what["gain"])
            asked += 1
    assert asked, plan["explain"]["what_ifs"]


main()
