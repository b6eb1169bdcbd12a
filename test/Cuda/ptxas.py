#!/usr/bin/env python3
"""Whether ptxas takes every kernel of every model's training step, for each GPU.

    test/Cuda/ptxas.py [--models mlp,gpt] [--arch sm_80,sm_90,sm_100] [--precision f32] [--plans serial,data x tensor]

Prints one line a model and plan: kernels, and for each GPU the most registers a thread takes and the bytes that all kernels spill. Exit
status 1 if a kernel is refused, or if a model has none.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Execution"))
import harness
import recipes

PLANS = {"serial": lambda n: [], **recipes.RECIPES}


def find_ptxas():
    for path in (shutil.which("ptxas"), *(os.environ.get(v, "") + "/bin/ptxas" for v in ("CUDA_HOME", "CUDA_PATH")), "/usr/local/cuda/bin/ptxas"):
        if path and os.access(path, os.X_OK):
            return path
    print("SKIPPED: no ptxas")
    sys.exit(77)


def assemble(ptxas, ptx, arch):
    """(registers, spilled bytes) of all kernels, or Failed with what ptxas says."""
    done = subprocess.run([ptxas, "-v", f"-arch={arch}", "-o", "/dev/null", ptx], capture_output=True, text=True)
    if done.returncode:
        raise harness.Failed(f"{arch}: " + " | ".join(done.stderr.splitlines()[:3]))
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", done.stderr)]
    spills = [int(a) + int(b) for a, b in re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr)]
    return registers, sum(spills)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(harness.MODELS))
    parser.add_argument("--arch", default="sm_80,sm_90,sm_100")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--plans", default="serial")
    parser.add_argument("--ranks", type=int, default=4)
    arguments = parser.parse_args()
    harness.require_shared()
    ptxas, archs, failures, passed = find_ptxas(), arguments.arch.split(","), 0, 0
    print(f"{'model':<12} {'plan':<20} {'kernels':>7}" + "".join(f"{arch + ' registers/spilled':>27}" for arch in archs))
    for name in arguments.models.split(","):
        folder = harness.SHARED / harness.MODELS[name]
        for plan in arguments.plans.split(","):
            flags = ["--precision", arguments.precision, *harness.freeze_flags(folder), *(PLANS[plan](arguments.ranks) or [])]
            cells, notes, count = [], [], 0
            with tempfile.TemporaryDirectory(prefix="para-") as scratch:
                for arch in archs:
                    ptx = f"{scratch}/{arch}.ptx"
                    try:
                        harness.call([harness.PARA_OPT, str(folder / "model.onnx"), "--train", "--target=cuda", "--emit=ptx", f"--arch={arch}",
                                      "-o", ptx, *flags])
                        count = open(ptx).read().count(".entry")
                        registers, spilled = assemble(ptxas, ptx, arch)
                        if not count or len(registers) != count:
                            raise harness.Failed(f"{arch}: {len(registers)} of {count} kernels")
                        cells.append(f"{max(registers)} / {spilled}")
                        passed += 1
                    except harness.Failed as error:
                        cells.append("FAILED")
                        notes.append(str(error))
                        failures += 1
            print(f"{name:<12} {plan:<20} {count:>7}" + "".join(f"{cell:>27}" for cell in cells), flush=True)
            for note in notes:
                print(f"{'':<12}   {note}")
    print(f"{passed} passed, {failures} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
