#!/usr/bin/env python3
"""Programs for CUDA, rehearsed (runtime/rehearsal) under many seeds, against the host's serial numbers.

    test/Cuda/rehearse.py [--models mlp,gpt] [--plans serial,ddp | all] [--ranks 1,2,4,8] [--seeds 20] [--precision f64 | f32] [--jobs N] [--on gpu]

Plans are the recipes of test/Execution/recipes.py, and `serial`. A program is compiled once and run once a seed; a run ends with status 1 at
the first race, access out of bounds, disagreement of ranks or misuse. Prints one line a model and plan with an entry for each number of ranks:
the largest difference of gradients, parameters, optimizer state and loss after three steps, over each tensor's largest element, over all
seeds. The bound is 1e-11 in f64 and 1e-5 in f32 (there with plain gradient descent: AdamW divides noise by itself); exit status 1 if any is
above. With `--on gpu` the programs run on GPUs instead, one rank on each. What a rehearsal cannot show: how a GPU runs the PTX, and reads of what the arena holds from its start, which is zeros by right.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Execution"))
import harness
import recipes

BOUNDS = {"f64": 1e-11, "f32": 1e-5}
OPTIMIZERS = {"f64": "adamw:lr=0.01,weight_decay=0.1", "f32": "sgd:lr=0.01"}
PLANS = {"serial": lambda n: [] if n == 1 else None, **recipes.RECIPES}


def compile_program(model, flags, exe, target):
    harness.call([harness.PARA_OPT, str(model), "--train", "--keep-gradients", f"--target={target}", *flags, "-o", exe], timeout=600)


def run(exe, data, seed):
    """What a run under the seed leaves, as harness.train tells it."""
    with tempfile.TemporaryDirectory(prefix="para-") as folder:
        environment = {**os.environ, "PARA_REHEARSE_SEED": str(seed)}
        harness.call([exe, "--data", str(data), "--steps", "3", "--metrics", f"{folder}/metrics.jsonl", "--dump-state", f"{folder}/state.npz",
                      "--dump-grads", f"{folder}/gradients.npz", "--progress=never"], timeout=900, env=environment)
        metrics = [{key: np.nan if value is None else value for key, value in json.loads(line).items()} for line in open(f"{folder}/metrics.jsonl")]
        return harness.Run(metrics, dict(np.load(f"{folder}/state.npz")), dict(np.load(f"{folder}/gradients.npz")))


class Table:
    def __init__(self, arguments):
        self.arguments = arguments
        self.serial = {}
        self.runs = self.programs = self.passed = self.failed = 0

    def reference(self, model, microbatches, flags):
        key = str(model), microbatches
        if key not in self.serial:
            self.serial[key] = harness.train(model, [*flags, "--microbatches", str(microbatches)])
        return self.serial[key]

    def cell(self, folder, own, pool):
        """(entry, note) of a model under the flags of a plan."""
        model, data = folder / "model.onnx", folder / "test_data_set_0"
        precision = self.arguments.precision
        base = [f"--optimizer={OPTIMIZERS[precision]}", *harness.freeze_flags(folder)]
        flags = [f"--precision={precision}", *base]
        with tempfile.TemporaryDirectory(prefix="para-") as scratch:
            try:
                reference = self.reference(model, recipes.plan_of(model, [*flags, *own]), ["--precision=f64", *base])
                compile_program(model, [*flags, *own], f"{scratch}/exe", "cuda" if self.arguments.on == "gpu" else "rehearsal")
            except harness.Failed as error:
                return "FAILED", str(error)
            self.programs += 1
            worst, notes = (0.0, ""), []
            for seed, done in [(seed, pool.submit(run, f"{scratch}/exe", data, seed)) for seed in range(self.arguments.seeds)]:
                try:
                    worst = max(worst, recipes.difference(done.result(), reference))
                    self.runs += 1
                except harness.Failed as error:
                    notes.append(f"seed {seed}: {error}")
        if notes:
            return "FAILED", notes[0] + (f" (and {len(notes) - 1} more seeds)" if len(notes) > 1 else "")
        return f"{worst[0]:.1e}", "" if worst[0] <= BOUNDS[precision] else worst[1]

    def row(self, name, plan, pool):
        folder = harness.SHARED / harness.MODELS[name]
        ranks = map(int, self.arguments.ranks.split(","))
        passed, failed = recipes.table_row(f"{name:<10} {plan:<30}", name, plan, PLANS[plan], ranks, lambda own: self.cell(folder, own, pool))
        self.passed, self.failed = self.passed + passed, self.failed + failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(harness.MODELS))
    parser.add_argument("--plans", default="all")
    parser.add_argument("--ranks", default="1,2,4,8")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--precision", choices=list(BOUNDS), default="f64")
    parser.add_argument("--on", choices=["rehearsal", "gpu"], default="rehearsal")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    harness.require_shared()
    table = Table(arguments)
    print(f"{'model':<10} {'plan':<30}" + "".join(f"{f'{n} ranks':>12}" for n in arguments.ranks.split(",")), flush=True)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for name in arguments.models.split(","):
            for plan in list(PLANS) if arguments.plans == "all" else arguments.plans.split(","):
                table.row(name, plan, pool)
    print(f"{table.programs} programs, {table.runs} runs compared with the host's serial run (bound {BOUNDS[arguments.precision]:g})")
    print(f"{table.passed} passed, {table.failed} failed")
    return 1 if table.failed or not table.passed else 0


if __name__ == "__main__":
    sys.exit(main())
