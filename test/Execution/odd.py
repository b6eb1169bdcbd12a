#!/usr/bin/env python3
"""Machines and models of sizes that nothing divides: planned, proved, and run on host ranks with the serial numbers.

    test/Execution/odd.py [--cases 5,mixed,30x4,50257]

  5       five devices, a batch of 7
  mixed   a plan made for six A100 and two H100, run on eight host ranks
  30x4    thirty layers on four stages
  50257   the vocabulary of GPT-2 cut over eight ranks

Models are made here. A run must equal the serial float64 run with as many microbatches to 1e-11 (recipes.py). Exit status 1 if one does not.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

import numpy as np

import harness
from recipes import Tally


def make_model(folder, family="gpt", **sizes):
    """A small language model with weights and its data; the path."""
    path = pathlib.Path(folder) / "model.onnx"
    names = {key: key.replace("_", "-") for key in sizes}
    flags = [text for key, value in sizes.items() for text in ([f"--no-{names[key]}"] if value is False else [f"--{names[key]}", str(value)])]
    python = harness.ROOT / ".venv" / "bin" / "python"
    harness.call([str(python), "-m", "para.models", family, *flags, "--weights", "1", "-o", str(path)], env={**os.environ, "PYTHONPATH": str(harness.ROOT / "python")})
    rng = np.random.default_rng(3)
    tokens = rng.integers(0, sizes["vocab"], (3 * sizes["batch"], sizes["seq"]))
    np.savez(pathlib.Path(folder) / "data.npz", input_ids=tokens, labels=tokens)
    return path


#: name -> (sizes of the model, flags of the plans)
CASES = {
    "5": (dict(layers=2, hidden=20, heads=2, vocab=61, seq=6, batch=7), [["--ranks", "5", f"--plan={plan}"] for plan in ("auto", "ddp", "zero3", "tensor", "pipeline")]),
    "mixed": (dict(layers=4, hidden=16, heads=4, vocab=61, seq=8, batch=16), [["--machine=a100-80:1x6+h100:1x2"]]),
    "30x4": (dict(layers=30, hidden=12, heads=2, vocab=31, seq=5, batch=8), [["--mesh", "pipeline=4", "--microbatches", "4"], ["--mesh", "pipeline=4,data=2", "--microbatches", "2", "--zero=1"]]),
    "50257": (dict(layers=1, hidden=16, heads=8, vocab=50257, seq=4, batch=2), [["--ranks", "8", "--plan=tensor"]]),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES))
    arguments = parser.parse_args()
    base = ["--precision=f64", "--optimizer=adamw:lr=0.01,weight_decay=0.1"]
    tally = Tally()
    print(f"{'case':<8}{'flags':<46}{'plan':<34}{'difference':>12}")
    for case in arguments.cases.split(","):
        sizes, plans = CASES[case]
        with tempfile.TemporaryDirectory(prefix="para-") as folder:
            model = make_model(folder, **sizes)
            tally.use(model, base, pathlib.Path(folder) / "data.npz")
            for flags in plans:
                # A plan for another machine runs on host ranks as it is.
                file, label = f"{folder}/plan.json", f"{case:<8}{' '.join(flags):<46}"
                try:
                    harness.call([harness.PARA_OPT, str(model), "--train", *base, *flags, "--plan-out", file, "--emit=plan", "-o", "/dev/null"])
                    plan = json.load(open(file))
                    tally.add(f"{label}{plan['recipe'] + ', M=' + str(plan['microbatches']):<34}", tally.compare([f"--plan={file}"], plan["microbatches"]))
                except harness.Failed as error:
                    tally.fail(label, error)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
