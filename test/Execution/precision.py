#!/usr/bin/env python3
"""Programs of 16-bit floats under every plan, against the serial run in float64 with as many microbatches.

    test/Execution/precision.py [--models mlp,gpt] [--precisions bf16,f16] [--plans serial,ddp] [--ranks 1,2,4] [--batch 3] [--target host | rehearsal | cuda]

Plans are the recipes of test/Execution/recipes.py, and `serial`. Prints one line a model, precision and plan with an entry for each number of
ranks: the distance of all gradients of the first step from the reference, over the reference's norm. It must be below a bound, which tells that
the numbers are right, and not below another, which tells that values are stored in 16 bits: f32 alone is nearer. Losses of the steps that follow
stay within the bound, too. Exit status 1 if anything is outside.
"""

import argparse
import sys

import numpy as np

import harness
import recipes

#: Half of the distance of a number's neighbours, over the number.
ROUNDING = {"bf16": 2.0**-9, "f16": 2.0**-12}
#: So many roundings, one on top of the other, is what a gradient may be off; and so small a part of one shows that there are any.
MOST, LEAST = 12, 0.02
#: Where few elements go through rectifiers, one that is near zero goes the other way: of resnet_bn, rounding the weights alone moves gradients by 0.05.
SENSITIVE = {"resnet_bn": 8}
STEPS = 5
OPTIMIZER = "--optimizer=sgd:lr=0.01"
PLANS = {"serial": lambda n: [] if n == 1 else None, **recipes.RECIPES}


def distance(run, reference):
    """Of the gradients, over the norm of the reference's."""
    squares = sum(np.sum((np.asarray(run.gradients[name], np.float64) - value) ** 2) for name, value in reference.gradients.items())
    return float(np.sqrt(squares / sum(np.sum(value**2) for value in reference.gradients.values())))


class Table:
    def __init__(self, arguments):
        self.arguments, self.references = arguments, {}
        self.passed = self.failed = 0

    def reference(self, model, microbatches, flags):
        key = str(model), microbatches
        if key not in self.references:
            self.references[key] = harness.train(model, [*flags, "--precision=f64", "--microbatches", str(microbatches)], steps=STEPS)
        return self.references[key]

    def cell(self, folder, precision, own):
        model = folder / "model.onnx"
        flags = [OPTIMIZER, *harness.freeze_flags(folder), *(["--dim", f"batch={self.arguments.batch}"] if self.arguments.batch else [])]
        compiled = [*flags, f"--precision={precision}", *own]
        try:
            reference = self.reference(model, recipes.plan_of(model, compiled), flags)
            run = harness.train(model, [*compiled, f"--target={self.arguments.target}"], steps=STEPS, timeout=900)
        except harness.Failed as error:
            return "FAILED", str(error)
        found, most, least = distance(run, reference), MOST * SENSITIVE.get(folder.name, 1) * ROUNDING[precision], LEAST * ROUNDING[precision]
        losses = max(harness.ratio(abs(mine["loss"] - theirs["loss"]), abs(theirs["loss"])) for mine, theirs in zip(run.metrics, reference.metrics))
        kinds = {value.dtype for value in [*run.gradients.values(), *(run.state[name] for name in run.gradients if name in run.state)]}
        note = ("the gradients are off" if not found <= most else "nothing is rounded" if found < least else f"losses are off by {losses:.1e}" if not losses <= most
                else f"masters and gradients are {kinds}" if kinds != {np.dtype(np.float32)} else "")
        return f"{found:.1e}", note

    def row(self, name, precision, plan):
        folder = harness.SHARED / harness.MODELS[name]
        ranks = map(int, self.arguments.ranks.split(","))
        passed, failed = recipes.table_row(f"{name:<10} {precision:<5} {plan:<30}", name, plan, PLANS[plan], ranks, lambda own: self.cell(folder, precision, own))
        self.passed, self.failed = self.passed + passed, self.failed + failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(harness.MODELS))
    parser.add_argument("--precisions", default=",".join(ROUNDING))
    parser.add_argument("--plans", default="all")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--batch", type=int, help="samples of a step; the model's own if not given")
    parser.add_argument("--target", choices=["host", "rehearsal", "cuda"], default="host", help="rehearsal: programs for CUDA, on processors")
    arguments = parser.parse_args()
    harness.require_shared()
    table = Table(arguments)
    print(f"{'model':<10} {'type':<5} {'plan':<30}" + "".join(f"{f'{n} ranks':>12}" for n in arguments.ranks.split(",")), flush=True)
    for name in arguments.models.split(","):
        for precision in arguments.precisions.split(","):
            for plan in list(PLANS) if arguments.plans == "all" else arguments.plans.split(","):
                table.row(name, precision, plan)
    print(f"{table.passed} passed, {table.failed} failed")
    return 1 if table.failed or not table.passed else 0


if __name__ == "__main__":
    sys.exit(main())
