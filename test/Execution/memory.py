#!/usr/bin/env python3
"""Memory of a rank under ZeRO: each level takes less than the one before it, by what it no longer keeps.

    test/Execution/memory.py

A GPT and a Llama with more bytes of parameters than of activations, made here, on 2 and 4 ranks of `data`, in one piece, in
microbatches and in two stages. For n ranks and P bytes of parameters on a rank, ZeRO-1 keeps (n-1)/n of 2 P less of the optimizer's
state than DDP, and ZeRO-3 as much of P less of parameters than ZeRO-2 (Rajbhandari et al. 2020); checked is at least SHARE of that,
and 0.6 of it for two stages, for messages need room. ZeRO-2 takes less than ZeRO-1: in one piece, where ZeRO-1 has each gradient only up to its update, how much
less is not said. Bytes are of the arenas that the programs say they take, which is all they have for tensors. Exit status 1 if anything does not
hold.
"""

import json
import os
import subprocess
import sys
import tempfile

import harness

MODELS = {"gpt": ["--layers", "4", "--hidden", "128", "--heads", "4", "--vocab", "96"],
          "llama": ["--layers", "4", "--hidden", "96", "--heads", "4", "--kv-heads", "2", "--vocab", "96"]}
#: label -> (other mesh axes, stages, flags)
SHAPES = {"whole": ("", 1, []), "2 microbatches": ("", 1, ["--microbatches", "2"]), "2 stages": (",pipeline=2", 2, ["--microbatches", "2"])}

#: of what a level saves by the textbook
SHARE = {1: 0.75, 2: 0, 3: 0.75}


def make(folder, name):
    """A model with weights; its path."""
    model = f"{folder}/{name}.onnx"
    python = {**os.environ, "PYTHONPATH": str(harness.ROOT / "python")}
    subprocess.run([sys.executable, "-m", "para.models", name, *MODELS[name], "--seq", "16", "--batch", "8", "--weights", "1", "-o", model], check=True,
                   env=python, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return model


def compile_for(model, exe, flags):
    """What the compiled program says of itself."""
    harness.call([harness.PARA_OPT, model, "--train", *flags, "-o", exe])
    return json.loads(harness.call([exe, "--info=json"]))


def main():
    passed = failed = 0
    print(f"{'model':<8}{'shape':<16}{'ranks':>5}" + "".join(f"{f'zero {level}':>12}" for level in range(4)))
    with tempfile.TemporaryDirectory(prefix="para-") as folder:
        for name in MODELS:
            model = make(folder, name)
            for shape, (axes, stages, flags) in SHAPES.items():
                for n in (2, 4):
                    found, faults = [], []
                    for level in range(4):
                        info = compile_for(model, f"{folder}/exe", ["--mesh", f"data={n}{axes}", f"--zero={level}", *flags])
                        found.append(info["arena_bytes"])
                        parameters = 4 * sum(_elements(p["shape"]) for p in info["parameters"])
                    peaks = [max(arena) for arena in found]
                    for level in (1, 2, 3):
                        # A stage has about its share of the parameters; which rank has most may change from level to level.
                        saved = SHARE[level] * (2 if level == 1 else 1) * (n - 1) / n * parameters / stages * (1 if stages == 1 else 0.6)
                        if peaks[level] >= peaks[level - 1] - saved:
                            faults.append(f"zero {level} saves {peaks[level - 1] - peaks[level]} bytes, not {saved:.0f}")
                    passed, failed = passed + (not faults), failed + bool(faults)
                    print(f"{name:<8}{shape:<16}{n:5}" + "".join(f"{peak:12}" for peak in peaks) + "  " + "; ".join(faults), flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def _elements(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


if __name__ == "__main__":
    sys.exit(main())
