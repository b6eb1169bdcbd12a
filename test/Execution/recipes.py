#!/usr/bin/env python3
"""Every recipe on every number of ranks against the serial float64 run with as many microbatches.

    test/Execution/recipes.py [--models mlp,gpt] [--recipes ddp,zero1] [--ranks 2,4]

Prints one line a model and recipe with an entry for each number of ranks: the largest difference of gradients, parameters, optimizer state
and loss after three steps of AdamW, over each tensor's largest element. The bound is 1e-11; exit status 1 if any is above.
Clear elements only (../shared/training/README.md): where the gradient is noise, adaptive optimizers amplify it.
"""

import argparse
import sys

import numpy as np

import harness

BOUND = 1e-11

#: Models with batch statistics: microbatches mean something else there, serially and in parallel.
NOT_SEPARABLE = {"cnn", "resnet_bn"}

#: Models in which, from so many tensor ranks on, no sum over them can end in rows: sequence parallelism is refused.
NO_SEQUENCE = {"cnn": 2, "resnet_bn": 2, "lora": 3, "embedding": 2}

#: Models with too few nodes for two parts on each rank of a pipeline from so many ranks on.
NO_CHUNKS = {"mlp": 6, "cnn": 6, "lora": 5, "embedding": 7}


def mesh(**axes):
    return ",".join(f"{name}={size}" for name, size in axes.items())


#: name -> flags for n ranks, or None where the recipe does not allow n
RECIPES = {
    "auto": lambda n: ["--ranks", str(n), "--plan=auto"],
    "data-parallel": lambda n: ["--ranks", str(n), "--plan=data-parallel"],
    "ddp": lambda n: ["--ranks", str(n), "--plan=ddp"],
    "zero1": lambda n: ["--ranks", str(n), "--plan=zero1"],
    "zero2": lambda n: ["--ranks", str(n), "--plan=zero2"],
    "zero3": lambda n: ["--ranks", str(n), "--plan=zero3"],
    "tensor": lambda n: ["--ranks", str(n), "--plan=tensor"],
    "model-parallel": lambda n: ["--ranks", str(n), "--plan=model-parallel"],
    "gpipe": lambda n: ["--ranks", str(n), "--plan=pipeline", "--pipeline-schedule=gpipe"],
    "1f1b": lambda n: ["--ranks", str(n), "--plan=pipeline", "--pipeline-schedule=1f1b"],
    "zb-h1": lambda n: ["--ranks", str(n), "--plan=pipeline", "--pipeline-schedule=zb-h1"],
    "zb-h2": lambda n: ["--ranks", str(n), "--plan=pipeline", "--pipeline-schedule=zb-h2"],
    "interleaved": lambda n: ["--ranks", str(n), "--plan=pipeline", "--pipeline-schedule=interleaved:2"],
    "zb-v": lambda n: ["--ranks", str(n), "--plan=pipeline", "--pipeline-schedule=zb-v"],
    "data x tensor": lambda n: ["--mesh", mesh(data=n // 2, tensor=2)] if n in (4, 8) else None,
    "zero1 x 1f1b": lambda n: ["--mesh", mesh(data=n // 2, pipeline=2), "--zero=1"] if n in (4, 8) else None,
    "zero2 x zb-h1": lambda n: ["--mesh", mesh(data=n // 2, pipeline=2), "--zero=2", "--pipeline-schedule=zb-h1"] if n in (4, 8) else None,
    "zero1 x interleaved": lambda n: ["--mesh", mesh(data=n // 2, pipeline=2), "--zero=1", "--pipeline-schedule=interleaved:2"] if n in (4, 8) else None,
    "ddp + full": lambda n: ["--ranks", str(n), "--plan=ddp", "--recompute=full"],
    "1f1b + full": lambda n: ["--ranks", str(n), "--plan=pipeline", "--recompute=full"],
    "zb-h1 + full": lambda n: ["--ranks", str(n), "--plan=pipeline", "--pipeline-schedule=zb-h1", "--recompute=full"],
    "interleaved + full": lambda n: ["--ranks", str(n), "--plan=pipeline", "--pipeline-schedule=interleaved:2", "--recompute=full"],
    "gpipe + selective": lambda n: ["--ranks", str(n), "--plan=pipeline", "--pipeline-schedule=gpipe", "--recompute=selective"],
    "tensor + sequence": lambda n: ["--ranks", str(n), "--plan=tensor", "--sequence-parallel"] if n > 1 else None,
    "tensor + sequence + full": lambda n: ["--ranks", str(n), "--plan=tensor", "--sequence-parallel", "--recompute=full"] if n > 1 else None,
    "tensor + sequence + selective": lambda n: ["--ranks", str(n), "--plan=tensor", "--sequence-parallel", "--recompute=selective"] if n > 1 else None,
    "data x tensor x 1f1b": lambda n: ["--mesh", mesh(data=2, tensor=2, pipeline=2)] if n == 8 else None,
}

_serial = {}


def is_too_small(name, plan, ranks, flags):
    """Whether para rightly refuses the plan of that many ranks for the model."""
    too_many = {"sequence": NO_SEQUENCE, "interleaved": NO_CHUNKS, "zb-v": NO_CHUNKS}
    return "--mesh" not in flags and any(word in plan and ranks >= most.get(name, ranks + 1) for word, most in too_many.items())

def table_row(head, name, plan, flags_of, ranks, cell):
    """Prints one line: `head`, then for each number of ranks what `cell(flags)` says, (entry, cause or ""), or `-` where the plan is for other
    numbers. Returns how many passed and how many failed; causes follow the line."""
    cells, notes, passed = [], [], 0
    for n in ranks:
        own = flags_of(n)
        if own is None or is_too_small(name, plan, n, own):
            cells.append("-")
            continue
        entry, note = cell(own)
        cells.append(entry + (" !" if note and entry != "FAILED" else ""))
        passed += not note
        if note:
            notes.append(f"{n} ranks: {note}")
    print(head + "".join(f"{entry:>12}" for entry in cells), flush=True)
    for note in notes:
        print(f"{'':<10}   {note}", flush=True)
    return passed, len(notes)


def plan_of(model, flags):
    """Number of microbatches of the plan that the compiler makes of the flags."""
    import json
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        harness.call([harness.PARA_OPT, str(model), "--train", *flags, "--plan-out", file.name, "--emit=plan", "-o", "/dev/null"])
        return json.load(open(file.name))["microbatches"]


class Tally:
    """Counts runs that are as the serial one and prints each; their serial runs are kept by the number of microbatches."""

    def __init__(self, model=None, base=(), data=None):
        self.passed = self.failed = 0
        self.use(model, base, data)

    def use(self, model, base, data):
        self.model, self.base, self.data, self.runs = model, list(base), data, {}

    def compare(self, flags, microbatches, of=None):
        """The largest difference of a run under the flags, of the model or another file of it, and where it is."""
        if microbatches not in self.runs:
            self.runs[microbatches] = harness.train(self.model, [*self.base, "--microbatches", str(microbatches)], data=self.data)
        return difference(harness.train(of or self.model, [*self.base, *flags], data=self.data), self.runs[microbatches])

    def add(self, label, worst):
        good = worst[0] <= BOUND
        self.passed += good
        self.failed += not good
        print(f"{label}{worst[0]:10.1e}{'' if good else ' ! ' + worst[1]}", flush=True)

    def fail(self, label, error):
        self.failed += 1
        print(f"{label}FAILED: {error}", flush=True)

    def finish(self):
        """The last line, and the exit status."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def serial(model, microbatches, flags):
    key = (str(model), microbatches)
    if key not in _serial:
        _serial[key] = harness.train(model, [*flags, "--microbatches", str(microbatches)])
    return _serial[key]


def microbatch_error(model, microbatches, flags):
    """Serial in microbatches against serial in one piece: gradients of a separable model are the same."""
    whole, parts = serial(model, 1, flags), serial(model, microbatches, flags)
    norm = whole.metrics[0]["grad_norm"]
    return max(harness.ratio(np.abs(parts.gradients[name] - value), norm) for name, value in whole.gradients.items())


def difference(run, reference):
    """Largest difference over the tensor's largest element, and the tensor."""
    norm = reference.metrics[0]["grad_norm"]
    worst = (0.0, "")
    for kind, mine, theirs in (("gradient of ", run.gradients, reference.gradients), ("", run.state, reference.state)):
        if set(mine) != set(theirs):
            return (float("inf"), f"names differ: {sorted(set(mine) ^ set(theirs))[:3]}")
        for name, value in theirs.items():
            error = np.abs(np.asarray(mine[name], np.float64) - value)
            owner = name.rsplit("/", 1)[0] if "/" in name and name.rsplit("/", 1)[0] in reference.gradients else name
            scale = np.max(np.abs(value)) if np.size(value) else 0.0
            if owner in reference.gradients and np.shape(value) == np.shape(reference.gradients[owner]):
                clear = np.abs(reference.gradients[owner]) > 1e-5 * norm
                if kind:  # what is noise by itself is still nothing beside the whole gradient
                    worst = max(worst, (harness.ratio(error, norm), kind + name + " beside the norm"))
                error = error[clear]
            worst = max(worst, (harness.ratio(error, scale), kind + name))
    for mine, theirs in zip(run.metrics, reference.metrics):
        worst = max(worst, (harness.ratio(abs(mine["loss"] - theirs["loss"]), abs(theirs["loss"])), f"loss of step {theirs['step']}"))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(harness.MODELS))
    parser.add_argument("--recipes", default=",".join(RECIPES))
    parser.add_argument("--ranks", default="1,2,3,4,8")
    arguments = parser.parse_args()
    harness.require_shared()
    ranks = [int(n) for n in arguments.ranks.split(",")]
    base = ["--precision=f64", "--optimizer=adamw:lr=0.01,weight_decay=0.1"]
    failures = compared = passed = 0
    print(f"{'model':<10} {'recipe':<30}" + "".join(f"{f'{n} ranks':>12}" for n in ranks))
    for name in arguments.models.split(","):
        folder = harness.SHARED / harness.MODELS[name]
        model = folder / "model.onnx"
        flags = base + harness.freeze_flags(folder)
        for recipe in arguments.recipes.split(","):
            cells, notes = [], []
            for n in ranks:
                own = RECIPES[recipe](n)
                if own is None or is_too_small(name, recipe, n, own):
                    cells.append("-")
                    continue
                try:
                    microbatches = plan_of(model, [*flags, *own])
                    worst = difference(harness.train(model, [*flags, *own]), serial(model, microbatches, flags))
                except harness.Failed as error:
                    cells.append("FAILED")
                    notes.append(f"{n} ranks: {error}")
                    failures += 1
                    continue
                compared += 1
                passed += worst[0] <= BOUND
                if microbatches > 1 and name not in NOT_SEPARABLE:
                    error = microbatch_error(model, microbatches, flags)
                    if not error <= BOUND:
                        failures += 1
                        notes.append(f"serial gradients in {microbatches} microbatches differ from the whole batch's by {error:.1e}")
                cells.append(f"{worst[0]:.1e}" + ("" if worst[0] <= BOUND else " !"))
                if not worst[0] <= BOUND:
                    failures += 1
                    notes.append(f"{n} ranks: {worst[1]}")
            print(f"{name:<10} {recipe:<30}" + "".join(f"{cell:>12}" for cell in cells), flush=True)
            for note in notes:
                print(f"{'':<10}   {note}")
    print(f"{compared} runs compared with the serial run (bound {BOUND:g})")
    print(f"{passed} passed, {failures} failed")
    return 1 if failures or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
