#!/usr/bin/env python3
"""Breaks programs for CUDA in one place each; the checks of the compiler or a rehearsal must tell.

    test/Cuda/mutations.py [--count 140] [--least 100] [--seeds 1,2,3,4] [--seed 1] [--jobs N]

A mutation drops an event's record or wait, moves it past an op, puts an op on another stream, shifts a buffer, changes a collective's count,
reduction, communicator or order, drops one, drops the wait for a message, or a kernel's barrier (para-mutate-device.cpp). Each mutant is
rehearsed under the seeds. Prints a table: kind of mutation, made, and by what it was found: the compiler's checks, a race, memory (bounds, or never written), ranks
that disagree, ranks that wait for one another, misuse of the interface, or other numbers than the program's own. A mutant that is none of that is
equivalent: nothing that it leaves unordered touches the same bytes, in any order, and its numbers are the same to the last bit. Those are
listed and not counted, with how many pairs of calls they no longer put in order (Order.cpp, which knows nothing of the rehearsal): 0 where
something else orders them too.
Exit status 1 if fewer than --least remain, or a program itself does not go through.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Execution"))
import harness

MUTATE = os.environ.get("PARA_MUTATE_DEVICE", str(pathlib.Path(harness.PARA_OPT).with_name("para-mutate-device")))
#: (model, what the plan is, flags)
PROGRAMS = [
    ("mlp", "ddp", ["--ranks=2", "--plan=ddp"]),
    ("mlp", "1f1b, 2 stages", ["--ranks=2", "--plan=pipeline", "--pipeline-schedule=1f1b"]),
    ("mlp", "zb-h1, 2 stages", ["--ranks=2", "--plan=pipeline", "--pipeline-schedule=zb-h1"]),
    ("mlp", "interleaved, 2 ranks", ["--ranks=2", "--plan=pipeline", "--pipeline-schedule=interleaved:2"]),
    ("mlp", "zero1 x 1f1b", ["--mesh=data=2,pipeline=2", "--zero=1", "--clip-norm=1"]),
    ("mlp", "zero3, uneven", ["--ranks=3", "--plan=zero3"]),
    ("lora", "tensor", ["--ranks=2", "--plan=tensor"]),
    ("cnn", "ddp", ["--ranks=2", "--plan=ddp"]),
    ("gpt", "zero3", ["--ranks=2", "--plan=zero3"]),
    ("gpt", "data x tensor", ["--mesh=data=2,tensor=2"]),
]
#: What a rehearsal says -> column.
FOUND = [
    ("a race:", "race"),
    ("that was never recorded", "misuse"),
    ("nobody has written it|(reads|writes) [0-9]+ bytes from|no multiple of|the host touches", "memory"),
    ("where rank [0-9]+ has|which has the|in and out overlap", "disagree"),
    ("nothing has moved", "stuck"),
    ("para: ", "misuse"),
]
COLUMNS = ["compiler", "race", "memory", "disagree", "stuck", "misuse", "numbers"]


def run(exe, folder, data, seed):
    """(what it says or "", arrays by name)."""
    environment = {**os.environ, "PARA_REHEARSE_SEED": str(seed), "PARA_REHEARSE_TIMEOUT": "3"}
    command = [exe, "--data", str(data), "--steps", "2", "--dump-state", f"{folder}/{seed}.npz", "--dump-grads", f"{folder}/{seed}-g.npz", "--progress=never"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "a rehearsal:" not in line]
        return (said[0] if said else f"status {done.returncode} and no word"), {}
    arrays = {**np.load(f"{folder}/{seed}.npz"), **{f"gradient of {k}": v for k, v in np.load(f"{folder}/{seed}-g.npz").items()}}
    return "", {name: value.tobytes() for name, value in arrays.items()}


class Program:
    def __init__(self, folder, model, plan, flags, seeds):
        source = harness.SHARED / harness.MODELS[model]
        self.name, self.data, self.seeds = f"{model}, {plan}", source / "test_data_set_0", seeds
        self.path = f"{folder}/{model}-{re.sub('[^a-z0-9]', '', plan)}.mlirbc"
        harness.call([harness.PARA_OPT, str(source / "model.onnx"), "--train", "--keep-gradients", "--target=rehearsal", *harness.freeze_flags(source),
                      *flags, "--emit=lower", "-o", self.path])
        lines = harness.call([MUTATE, self.path, "--list"]).splitlines()
        self.mutations = [line.split("\t") for line in lines]
        column, said, self.numbers = self.look(-1, None)
        if column != "equivalent":
            raise harness.Failed(f"{self.name}: the program itself: {said}")

    def look(self, number, numbers):
        """(column, what was said) of a mutant; with number -1 of the program itself, and its numbers."""
        with tempfile.TemporaryDirectory(prefix="para-") as folder:
            done = subprocess.run([MUTATE, self.path, f"--apply={number}", "-o", f"{folder}/exe"], capture_output=True, text=True)
            if done.returncode:
                return "compiler" if done.returncode == 3 else "crash", done.stderr.strip().splitlines()[0], None
            for seed in self.seeds:
                try:
                    said, found = run(f"{folder}/exe", folder, self.data, seed)
                except subprocess.TimeoutExpired:
                    return "no end", "no end after 300 s", None
                if said:
                    return next((column for text, column in FOUND if re.search(text, said)), "crash"), said, None
                numbers = numbers or found
                if found != numbers:
                    return "numbers", f"seed {seed}: " + ", ".join([k for k in found if found[k] != numbers.get(k)][:2]), None
            return "equivalent", "", numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=140)
    parser.add_argument("--least", type=int, default=100)
    parser.add_argument("--seeds", default="1,2,3,4")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=len(PROGRAMS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("-v", action="store_true", help="a line a mutant")
    arguments = parser.parse_args()
    harness.require_shared()
    made, found, equivalent, lost = collections.Counter(), collections.Counter(), [], []
    with tempfile.TemporaryDirectory(prefix="para-") as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        programs = [Program(folder, *program, arguments.seeds.split(",")) for program in PROGRAMS[: arguments.programs]]
        # The kinds in turn, each of a random program in which it is possible.
        chance = random.Random(arguments.seed)
        kinds = sorted({kind for program in programs for _, kind, _ in program.mutations})
        left = {kind: [(program, number, what) for program in programs for number, its, what in program.mutations if its == kind] for kind in kinds}
        chosen = []
        while len(chosen) < arguments.count and any(left.values()):
            for kind in kinds:
                if left[kind] and len(chosen) < arguments.count:
                    program = chance.choice([p for p in programs if any(entry[0] is p for entry in left[kind])])
                    entry = chance.choice([entry for entry in left[kind] if entry[0] is program])
                    left[kind].remove(entry)
                    chosen.append((kind, *entry))
        jobs = [(kind, program, number, what, pool.submit(program.look, int(number), program.numbers)) for kind, program, number, what in chosen]
        for kind, program, number, what, job in jobs:
            column, said, _ = job.result()
            made[kind] += 1
            found[kind, column] += 1
            if column == "equivalent":
                why = "no two threads touch a word on both sides of it"
                if kind != "barrier dropped":
                    why = harness.call([MUTATE, program.path, f"--apply={number}", "--order"]).strip() + " pairs less in order"
                equivalent.append(f"{kind}: {what} ({program.name}): {why}")
            elif column not in COLUMNS:
                lost.append(f"{kind}: {what} ({program.name}): {said}")
            if arguments.v:
                print(f"{column:<10} {kind}: {what} ({program.name}): {said}", flush=True)
    print(f"{'mutation':<24}{'made':>6}" + "".join(f"{column:>10}" for column in COLUMNS) + f"{'equivalent':>12}")
    for kind in kinds:
        print(f"{kind:<24}{made[kind]:>6}" + "".join(f"{found[kind, column]:>10}" for column in COLUMNS) + f"{found[kind, 'equivalent']:>12}")
    counted = sum(made.values()) - len(equivalent)
    print(f"{'together':<24}{sum(made.values()):>6}" + "".join(f"{sum(found[kind, column] for kind in kinds):>10}" for column in COLUMNS) + f"{len(equivalent):>12}")
    for text in equivalent:
        print(f"equivalent: {text}")
    for text in lost:
        print(f"NOT TOLD: {text}")
    print(f"{counted} mutants that mean something else, {counted - len(lost)} of them found")
    return 1 if lost or counted < arguments.least else 0


if __name__ == "__main__":
    sys.exit(main())
