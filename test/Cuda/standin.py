#!/usr/bin/env python3
"""Programs for CUDA where there is no GPU: the whole of runtime/cuda, with libraries that stand in for NVIDIA's (StandIn/) and the kernels
of --target=rehearsal, against the same plan on the host.

    test/Cuda/standin.py [--models mlp,gpt] [--plans serial,ddp] [--ranks 2]

Prints one line a model and plan: the largest difference of gradients, parameters, optimizer state and loss after three steps of AdamW in
f64, over each tensor's largest element. The bound is 1e-11; exit status 1 if any is above. What this cannot show: how a GPU runs the
PTX, and what streams that run side by side would do.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Execution"))
import harness
import recipes

BOUND = 1e-11
LIBRARIES = {"Driver": "libcuda.so.1", "Blas": "libcublasLt.so.13", "Dnn": "libcudnn.so.9", "Nccl": "libnccl.so.2"}
PLANS = {"serial": lambda n: [], **recipes.RECIPES}
CLANG = os.environ.get("PARA_CLANG", "clang++-22")


def build_libraries(folder):
    for source, library in LIBRARIES.items():
        harness.call([CLANG, "-std=c++17", "-O2", "-shared", "-fPIC", "-o", f"{folder}/{library}", str(HERE / "StandIn" / f"{source}.cpp"), "-ldl"])


def train(model, flags, data, libraries):
    """What harness.train returns, of a program for CUDA."""
    runtime = pathlib.Path(harness.PARA_OPT).resolve().parents[1] / "lib" / "libpara_runtime_rehearsal.a"
    with tempfile.TemporaryDirectory(prefix="para-") as folder:
        compile_ = [harness.PARA_OPT, str(model), "--train", "--keep-gradients", *flags]
        harness.call([*compile_, "--target=rehearsal", "--emit=llvm", "-o", f"{folder}/kernels.ll"])
        harness.call([CLANG, "-shared", "-fPIC", "-O1", "-Wno-override-module", "-x", "ir", f"{folder}/kernels.ll", "-x", "none", "-Wl,-z,lazy",
                      "-Wl,--whole-archive", str(runtime), "-Wl,--no-whole-archive", "-o", f"{folder}/kernels.so"])
        harness.call([*compile_, "--target=cuda", "--arch=sm_90", "-o", f"{folder}/model"])
        environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries), "PARA_STAND_IN_KERNELS": f"{folder}/kernels.so"}
        harness.call([f"{folder}/model", "--data", str(data), "--steps", "3", "--metrics", f"{folder}/metrics.jsonl", "--dump-state",
                      f"{folder}/state.npz", "--dump-grads", f"{folder}/gradients.npz", "--progress=never"], env=environment)
        metrics = [json.loads(line) for line in open(f"{folder}/metrics.jsonl")]
        return harness.Run(metrics, dict(np.load(f"{folder}/state.npz")), dict(np.load(f"{folder}/gradients.npz")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(harness.MODELS))
    parser.add_argument("--plans", default="serial,ddp,zero1,zero3,tensor,1f1b")
    parser.add_argument("--ranks", type=int, default=2)
    arguments = parser.parse_args()
    harness.require_shared()
    failures = passed = 0
    with tempfile.TemporaryDirectory(prefix="para-") as libraries:
        build_libraries(libraries)
        for name in arguments.models.split(","):
            folder = harness.SHARED / harness.MODELS[name]
            model, data = folder / "model.onnx", folder / "test_data_set_0"
            for plan in arguments.plans.split(","):
                flags = ["--precision=f64", "--optimizer=adamw:lr=0.01,weight_decay=0.1", *harness.freeze_flags(folder), *PLANS[plan](arguments.ranks)]
                try:
                    worst = recipes.difference(train(model, flags, data, libraries), harness.train(model, flags))
                    verdict = f"{worst[0]:.1e}" + ("" if worst[0] <= BOUND else f" ! {worst[1]}")
                    passed, failures = passed + (worst[0] <= BOUND), failures + (not worst[0] <= BOUND)
                except (harness.Failed, subprocess.SubprocessError) as error:
                    verdict = f"FAILED: {error}"
                    failures += 1
                print(f"{name:<12} {plan:<12} {verdict}", flush=True)
    print(f"{passed} passed, {failures} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
