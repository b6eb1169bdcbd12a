#!/usr/bin/env python3
"""What recomputation and sequence parallelism save: arena, step and bytes sent beside the plan that keeps everything.

    test/Execution/recompute.py [--models gpt,llama] [--plans serial,ddp] [--steps 5] [--layers 8 --hidden 64 --seq 64 --batch 16]

Models of ../shared are small; with --layers the models are made by `para.models` at that size, with weights, and given random tokens.
Prints one line a model, plan and mode: bytes of the fullest rank's arena, median seconds of a step, bytes that the fullest rank sends in it, and the
largest difference of loss, gradients and state from the first mode's in float64, over each tensor's largest element. Exit status 1 where
one is above 1e-11.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import harness
from recipes import BOUND, difference

PLANS = {
    "serial": [],
    "ddp": ["--ranks=2", "--plan=ddp"],
    "1f1b": ["--ranks=2", "--plan=pipeline", "--pipeline-schedule=1f1b"],
    "gpipe": ["--ranks=2", "--plan=pipeline", "--pipeline-schedule=gpipe"],
    "tensor": ["--ranks=2", "--plan=tensor"],
    "tensor 4": ["--ranks=4", "--plan=tensor"],
}
MODES = {
    "none": [],
    "selective": ["--recompute=selective"],
    "full": ["--recompute=full"],
    "sequence": ["--sequence-parallel"],
    "sequence + selective": ["--sequence-parallel", "--recompute=selective"],
    "sequence + full": ["--sequence-parallel", "--recompute=full"],
}


def make_model(folder, family, arguments):
    """A model of the given size with weights and a batch of random tokens: path of the model, path of the data, flags."""
    model = pathlib.Path(folder) / f"{family}.onnx"
    size = [f"--{name}={getattr(arguments, name)}" for name in ("layers", "hidden", "seq")]
    environment = {**os.environ, "PYTHONPATH": str(harness.ROOT / "python")}
    harness.call([sys.executable, "-m", "para.models", family, *size, "--heads=4", "--vocab=128", "--weights=1", "-o", str(model)], env=environment)
    info = subprocess.run([harness.PARA_OPT, str(model), "--train", f"--dim=batch={arguments.batch}", "-o", f"{folder}/info"], capture_output=True, text=True)
    if info.returncode:
        raise harness.Failed(info.stderr)
    random = np.random.default_rng(1)
    inputs = json.loads(harness.call([f"{folder}/info", "--info=json"]))["inputs"]
    arrays = {each["name"]: np.ones(each["shape"], np.int64) if "mask" in each["name"] else random.integers(0, 2 if "type" in each["name"] else 128, each["shape"])
              for each in inputs}
    np.savez(f"{folder}/data.npz", **arrays)
    return model, f"{folder}/data.npz", [f"--dim=batch={arguments.batch}"]


def measure(model, data, flags, steps):
    """Arena, median seconds and bytes sent of the program in the model's own precision."""
    with tempfile.TemporaryDirectory(prefix="para-") as folder:
        exe = f"{folder}/model"
        harness.call([harness.PARA_OPT, str(model), "--train", "-o", exe, *flags], 600)
        arena = max(json.loads(harness.call([exe, "--info=json"]))["arena_bytes"])
        harness.call([exe, "--data", str(data), "--steps", str(steps), "--threads=1", "--metrics", f"{folder}/metrics.jsonl", "--progress=never"], 600)
        metrics = [json.loads(line) for line in open(f"{folder}/metrics.jsonl")]
        return arena, float(np.median([line["seconds"] for line in metrics])), metrics[-1]["bytes_sent"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="gpt,llama,bert_mlm,cnn")
    parser.add_argument("--plans", default=",".join(PLANS))
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--steps", type=int, default=5)
    for name in ("layers", "hidden", "seq", "batch"):
        parser.add_argument(f"--{name}", type=int, default={"layers": 0, "hidden": 64, "seq": 64, "batch": 16}[name])
    arguments = parser.parse_args()
    harness.require_shared()
    passed = failures = 0
    print(f"{'model':<10} {'plan':<10} {'mode':<22}{'arena':>12}{'':>7}{'step':>12}{'sent':>12}{'difference':>13}")
    for name in arguments.models.split(","):
        with tempfile.TemporaryDirectory(prefix="para-") as folder:
            if arguments.layers:
                model, data, flags = make_model(folder, name, arguments)
            else:
                home = harness.SHARED / harness.MODELS[name]
                model, data, flags = home / "model.onnx", home / "test_data_set_0", harness.freeze_flags(home)
            for plan in arguments.plans.split(","):
                first = None
                for mode in arguments.modes.split(","):
                    if "sequence" in mode and "tensor" not in plan:
                        continue
                    own = [*flags, *PLANS[plan], *MODES[mode]]
                    try:
                        arena, seconds, sent = measure(model, data, own, arguments.steps)
                        run = harness.train(model, ["--precision=f64", "--optimizer=adamw:lr=0.01", *own], steps=2, data=data, timeout=600)
                    except harness.Failed as error:
                        print(f"{name:<10} {plan:<10} {mode:<22} refused: {error}", flush=True)
                        continue
                    first = first or (arena, run)
                    worst = difference(run, first[1])
                    good = worst[0] <= BOUND
                    passed += good
                    failures += not good
                    print(f"{name:<10} {plan:<10} {mode:<22}{arena:>12}{arena / first[0]:>7.0%}{seconds * 1e3:>9.2f} ms{sent:>12}{worst[0]:>13.1e}"
                          + ("" if good else f" ! {worst[1]}"), flush=True)
    print(f"{passed} passed, {failures} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
