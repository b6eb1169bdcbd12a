#!/usr/bin/env python3
"""A whole training run against PyTorch's: every one of 300 losses, on one rank and on four under different plans.

    test/Execution/converge.py [--steps 300] [--plans "1 rank,ddp,tensor x pipeline"]

Trains ../shared/training/converge_gpt (AdamW, warm-up and cosine, clipping, weight decay on matrices only) in float32 and prints the
largest relative difference of the loss from losses.csv over parts of the run. Exit status 1 if a loss is off by more than 2e-4, or by
more than 1e-5 in the first 50 steps (../shared/training/README.md).
"""

import argparse
import csv
import json
import os
import sys
import tempfile

import numpy as np

import harness

#: name -> (ranks, flags of the compiler)
PLANS = {
    "1 rank": (1, []),
    "ddp": (4, ["--plan=ddp"]),
    "zero3": (4, ["--plan=zero3"]),
    "data x tensor": (4, ["--mesh", "data=2,tensor=2"]),
    "1f1b": (4, ["--plan=pipeline", "--pipeline-schedule=1f1b"]),
    "tensor x 1f1b": (4, ["--mesh", "tensor=2,pipeline=2"]),
    "auto": (4, ["--plan=auto"]),
}
FLAGS = ["--train", "--optimizer=adamw:lr=1e-3,beta1=0.9,beta2=0.95,weight_decay=0.1,no_decay=*bias|*ln*", "--clip-norm", "1",
         "--lr-schedule=cosine:warmup=20,total=300,min=1e-4"]
EARLY, BOUND = 1e-5, 2e-4


def write_data(folder, path):
    """The training set of the reference, batch after batch."""
    data = np.load(folder / "data.npz")
    rows = np.stack([data["train_text"][start:start + 65] for start in data["train_starts"].reshape(-1)]).astype(np.int64)
    np.savez(path, input_ids=rows[:, :-1], labels=rows[:, 1:])


def losses(model, data, name, steps, folder):
    """The run's metrics, a dict a step."""
    ranks, flags = PLANS[name]
    harness.call([harness.PARA_OPT, str(model), *FLAGS, "--ranks", str(ranks), *flags, "-o", f"{folder}/model"])
    harness.call([f"{folder}/model", "--ranks", str(ranks), "--data", data, "--steps", str(steps), "--shuffle", "none",
                  "--threads", str(max(1, (os.cpu_count() or 1) // ranks)), "--metrics", f"{folder}/metrics.jsonl", "--progress=never"], timeout=1800)
    return [json.loads(line) for line in open(f"{folder}/metrics.jsonl")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--plans", default="1 rank,ddp,tensor x 1f1b")
    arguments = parser.parse_args()
    harness.require_shared()
    reference = harness.SHARED / "training" / "converge_gpt"
    rows = list(csv.DictReader(open(reference / "losses.csv")))[:arguments.steps]
    expected = np.array([float(row["loss_float32"]) for row in rows])
    rates = np.array([float(row["lr"]) for row in rows])
    passed = failed = 0
    print(f"{'plan':<16}{'steps':>6}{'first loss':>12}{'last loss':>12}{'step 0':>10}{'0-49':>10}{'all':>10}{'lr':>10}{'s a step':>10}")
    with tempfile.TemporaryDirectory(prefix="para-") as folder:
        write_data(reference, f"{folder}/train.npz")
        for name in arguments.plans.split(","):
            try:
                metrics = losses(reference / "model.onnx", f"{folder}/train.npz", name, len(rows), folder)
            except harness.Failed as error:
                print(f"{name:<16}  FAILED: {error}")
                failed += 1
                continue
            if len(metrics) != len(rows):
                print(f"{name:<16}  FAILED: {len(metrics)} steps of {len(rows)}")
                failed += 1
                continue
            mine = np.array([line["loss"] for line in metrics])
            apart = np.abs(mine - expected) / expected
            rate = np.max(np.abs(np.array([line["lr"] for line in metrics]) - rates) / rates)
            good = np.max(apart[:50]) <= EARLY and np.max(apart) <= BOUND and rate < 1e-9
            passed, failed = passed + good, failed + (not good)
            seconds = np.median([line["seconds"] for line in metrics])
            print(f"{name:<16}{len(mine):6}{mine[0]:12.6f}{mine[-1]:12.6f}{apart[0]:10.1e}{np.max(apart[:50]):10.1e}{np.max(apart):10.1e}{rate:10.1e}"
                  f"{seconds:10.4f}{'' if good else '  ABOVE'}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
