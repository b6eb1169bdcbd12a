"""Batches that no number of ranks or microbatches divides: the race holds the plans that flags can name, and a part that is larger is paid for.

    batches.py MODEL.onnx        exit status 1: a plan given by flags is faster than the one chosen, or more samples cost less
"""

import json
import subprocess
import sys

SLACK = 1.01  # gain from which still fewer microbatches are tried


def simulate(model: str, machine: str, batch: int, *flags: str) -> float:
    """Seconds of a step."""
    command = ["para-opt", model, "--train", f"--machine={machine}", "--simulate", "--json", "--dim", f"batch={batch}", "--dim", "seq=64", *flags]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["seconds_per_step"]


def main() -> int:
    model = sys.argv[1]
    failed = 0
    for machine, batch in (("h100:1x1", 64), ("h100:1x1", 997), ("h100:1x2", 64), ("h100:1", 997), ("h100:1", 12), ("h100:1", 100003)):
        chosen = simulate(model, machine, batch)
        named = {flags: simulate(model, machine, batch, *flags.split()) for flags in ("--plan=ddp", "--plan=zero3", "--microbatches 1", "--microbatches 2")}
        for flags, seconds in named.items():
            if seconds * SLACK < chosen:
                print(f"FAILED: {machine}, batch {batch}: {flags} takes {seconds} s, the chosen plan {chosen} s")
                failed += 1
    # The largest part counts.
    even, uneven = (simulate(model, "h100:1", batch, "--plan=ddp", "--microbatches", "1") for batch in (8 * 64, 8 * 63 + 1))
    if abs(uneven / even - 1) > 0.01:
        print(f"FAILED: {8 * 63 + 1} samples over 8 ranks take {uneven} s, {8 * 64} take {even} s")
        failed += 1
    print(f"{'FAILED' if failed else 'passed'}")
    return 1 if failed else 0


sys.exit(main())
