"""flags.py PARA_OPT MODEL FOLDER: each flag beside each way to plan changes what is made, or agrees with the plan, or is refused by name, or a note names it."""
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

PARA, MODEL, FOLDER = sys.argv[1:]
LOWER = ["--emit=lower", "-o", "OUT/x.mlir", "--plan-out", "OUT/plan.json"]
PRICES = ["--machine=h100:1x2", "--simulate", "--json", "--plan-out", "OUT/plan.json"]


def file(name):
    return f"--plan={FOLDER}/{name}.json"


MODES = {
    "inference": LOWER,
    "training": ["--train", *LOWER],
    "2 ranks": ["--train", "--ranks", "2", *LOWER],
    "data": ["--train", "--mesh", "data=2", *LOWER],
    "tensor": ["--train", "--mesh", "tensor=2", *LOWER],
    "pipeline": ["--train", "--mesh", "pipeline=2", "--microbatches", "2", *LOWER],
    "zero1": ["--train", "--plan=zero1", "--ranks", "2", *LOWER],
    "file": ["--train", file("data"), *LOWER],
    "file of a pipeline": ["--train", file("pipeline"), *LOWER],
    "prices": ["--train", *PRICES],
    "prices of a file": ["--train", file("pipeline"), *PRICES],
    "comparison": ["--train", f"--explain={FOLDER}/data.json,{FOLDER}/pipeline.json", "--json"],
    "autodiff": ["--train", "--emit=autodiff", "-o", "OUT/x.mlir"],
}
W = "layers.1.weight"
FLAGS = ["--arch=sm_80", "--freeze=*0.bias", "--optimizer=sgd", "--lr-schedule=linear:total=9", "--clip-norm=1", "--clip-value=1", "--keep-gradients", "--microbatches=2",
         "--microbatches=4", "--ranks=1", "--ranks=2", "--ranks=4", "--plan=zero3", "--plan=pipeline", "--plan=expert", "--mesh=data=1", "--mesh=data=2", "--mesh=tensor=2",
         "--mesh=pipeline=2", "--mesh=expert=2", "--zero=1", "--zero=3", "--pipeline-schedule=1f1b", "--pipeline-schedule=gpipe", "--pipeline-schedule=zb-h1",
         "--sequence-parallel", "--sequence-parallel=off", "--stages=even", f"--shard={W}=[data,_]", f"--shard={W}=[tensor,_]", "--shard=nothing=[data,_]",
         "--recompute=full", "--recompute=auto", "--explain", "--fuse=none", "--execution=eager:slowdown=2", "--json", "--report=OUT/report.html", "--trace-out=OUT/trace.json",
         "--run", "--verify"]
# What is trained, of which only a part is priced; and what is for stages behind the one that is printed.
OF_THE_STEP = ["--lr-schedule", "--clip-norm", "--clip-value", "--keep-gradients", "--explain"]
LATER = ["--lr-schedule", "--microbatches", "--ranks", "--plan", "--mesh", "--zero", "--pipeline-schedule", "--sequence-parallel", "--shard", "--recompute"]


def run(flags):
    folder = tempfile.mkdtemp(dir=FOLDER)
    done = subprocess.run([PARA, MODEL, *(flag.replace("OUT/", folder + "/") for flag in flags)], capture_output=True, text=True)
    made = {path.name: path.read_text() for path in sorted(pathlib.Path(folder).iterdir())}
    plan = json.loads(made.pop("plan.json", "null"))
    return done, {"": done.stdout, **made}, plan


def agrees(flag, mode, plan):
    """Whether the plan is what the flag asks for."""
    if plan is None:
        return False
    name, _, value = flag.partition("=")
    size = lambda axis: plan["mesh"].get(axis, 1)
    if name == "--mesh":
        axis, _, number = value.partition("=")
        return size(axis) == int(number)
    if name == "--ranks":
        ranks = 1
        for axis in plan["mesh"].values():
            ranks *= axis
        return ranks == int(value)
    return {"--microbatches": plan["microbatches"] == int(value) if value.isdigit() else False,
            "--zero": value == str(plan["zero"]) and (size("data") > 1 or "file" in mode),
            "--pipeline-schedule": value == plan["schedule"] and (size("pipeline") > 1 or "file" in mode),
            "--sequence-parallel": value == "off" and not plan["sequence_parallel"],
            "--plan": value == plan["recipe"] and size("data") * size("tensor") * size("pipeline") > 1,
            "--recompute": value == "auto" and "file" not in mode,
            "--stages": mode == "prices of a file",  # whose stages are even, by cost
            }.get(name, False)


def judge(mode, flag, plain):
    done, made, plan = run([*MODES[mode], flag])
    name = flag.split("=")[0]
    if done.returncode:
        assert done.returncode in (1, 2, 3) and "error: " in done.stderr, (mode, flag, done)
        assert name in done.stderr or (name == "--ranks" and "ranks" in done.stderr) or "`expert`" in done.stderr, f"{mode}: {flag} is refused without its name: {done.stderr}"
        return "refused"
    if any(name in line for line in done.stderr.splitlines() if "note: " in line):
        return "noted"
    if made != plain[1]:
        return "works"
    if agrees(flag, mode, plan) or flag in MODES[mode] or name in OF_THE_STEP and mode in ("prices", "prices of a file", "comparison") or mode == "autodiff" and name in LATER:
        return "agrees"
    return "IGNORED"


def main():
    for name, flags in {"data": ["--mesh", "data=2"], "pipeline": ["--mesh", "pipeline=2", "--microbatches", "2"]}.items():
        subprocess.run([PARA, MODEL, "--train", *flags, "--emit=plan", "-o", "/dev/null", "--plan-out", f"{FOLDER}/{name}.json"], check=True)
    counts, ignored = {}, []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for mode, flags in MODES.items():
            plain = run(flags)
            assert plain[0].returncode == 0, (mode, plain[0].stderr)
            for flag, verdict in zip(FLAGS, pool.map(lambda flag: judge(mode, flag, plain), FLAGS)):
                counts[verdict] = counts.get(verdict, 0) + 1
                if verdict == "IGNORED":
                    ignored.append(f"{mode}: {flag}")
    print(counts, *ignored, sep="\n")
    assert not ignored
    assert counts["works"] > 130 and counts["refused"] > 200 and counts["noted"] > 10, counts


main()
