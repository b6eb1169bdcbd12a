#!/usr/bin/env python3
"""Predicted and measured time of a step on this host, under every recipe.

    test/Execution/predict.py [--models gpt,cnn] [--ranks 2,4] [--recipes ...] [--steps 30] [--rounds 5]

Models are made here: a GPT of 4 layers and a residual CNN. Each plan is compiled, priced (`--simulate --json`) and run on host ranks of one
thread; rounds are interleaved, so that all recipes get the same minutes, and measured is the median step of the best round. Prints the error of
each prediction with the medians of all rounds, whether the recipe predicted to be fastest is measured to be, and by how much it is slower if not.
Recipes that the model refuses (a CNN has no sequence) are named and left out. Exit status 1 where an error is above 15 % or the pick loses more
than 3 %. Times want a quiet machine: where medians of rounds differ by more than the bounds, others were at work.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

import numpy as np

import harness
from recipes import NO_SEQUENCE, RECIPES

MODELS = {
    "gpt": (["gpt", "--layers", "4", "--hidden", "256", "--heads", "4", "--vocab", "512", "--seq", "64", "--batch", "8"], dict(batch=8, seq=64, vocab=512)),
    "cnn": (["cnn", "--layers", "3", "--hidden", "32", "--image", "32", "--batch", "16"], dict(batch=16)),
}


def make(name, folder):
    flags, sizes = MODELS[name]
    path = pathlib.Path(folder) / "model.onnx"
    python = harness.ROOT / ".venv" / "bin" / "python"
    harness.call([str(python), "-m", "para.models", *flags, "--weights", "1", "-o", str(path)], env={**os.environ, "PYTHONPATH": str(harness.ROOT / "python")})
    rng = np.random.default_rng(3)
    import onnx

    arrays = {}
    for value in onnx.load(str(path), load_external_data=False).graph.input:
        shape = [d.dim_value or sizes["batch"] for d in value.type.tensor_type.shape.dim]
        is_int = value.type.tensor_type.elem_type == onnx.TensorProto.INT64
        arrays[value.name] = rng.integers(0, sizes.get("vocab", 10), shape) if is_int else rng.normal(size=shape).astype(np.float32)
    np.savez(pathlib.Path(folder) / "data.npz", **arrays)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="gpt,cnn")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--recipes", default=",".join(name for name in RECIPES if name != "auto"))
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    passed = failed = 0
    for name in arguments.models.split(","):
        for ranks in (int(n) for n in arguments.ranks.split(",")):
            rows, refused = [], []
            with tempfile.TemporaryDirectory(prefix="para-") as folder:
                model = make(name, folder)
                for recipe in arguments.recipes.split(","):
                    flags = RECIPES[recipe](ranks)
                    if flags is None:
                        continue
                    exe = f"{folder}/{recipe.replace(' ', '-')}"
                    try:
                        said = json.loads(harness.call([harness.PARA_OPT, str(model), "--train", *flags, "--simulate", "--json"]))
                        harness.call([harness.PARA_OPT, str(model), "--train", *flags, "-o", exe])
                    except harness.Failed as error:
                        if "sequence" in recipe and ranks >= NO_SEQUENCE.get(name, ranks + 1):
                            refused.append(recipe)
                            continue
                        print(f"{name} {ranks} {recipe}: {error}")
                        failed += 1
                        continue
                    rows.append((recipe, exe, said["seconds_per_step"], []))
                for _ in range(arguments.rounds):
                    for row in rows:
                        log = f"{row[1]}.jsonl"
                        harness.call([row[1], "--data", f"{folder}/data.npz", "--ranks", str(ranks), "--threads", "1", "--steps", str(arguments.steps), "--metrics", log, "--progress=never"])
                        row[3].append(statistics.median(json.loads(line)["seconds"] for line in list(open(log))[3:]))
            print(f"{name}, {ranks} ranks{'':<20}{'predicted':>12}{'measured':>12}{'error':>9}   medians of the rounds")
            for recipe, _, predicted, medians in rows:
                measured = min(medians)
                error = predicted / measured - 1
                good = abs(error) <= 0.15
                passed += good
                failed += not good
                print(f"  {recipe:<30}{1e3 * predicted:9.3f} ms{1e3 * measured:9.3f} ms{100 * error:+8.1f}%{'  ' if good else ' !'} " + " ".join(f"{1e3 * median:.1f}" for median in medians))
            if refused:
                print(f"  refused by the model, left out: {', '.join(refused)}")
            pick, best = min(rows, key=lambda row: row[2]), min(rows, key=lambda row: min(row[3]))
            loss = min(pick[3]) / min(best[3]) - 1
            passed += loss <= 0.03
            failed += loss > 0.03
            print(f"  picked {pick[0]}, fastest is {best[0]}: {100 * loss:.1f} % slower{'' if loss <= 0.03 else ' !'}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
