#!/usr/bin/env python3
"""Breaks correct programs in 260 ways that change what they compute; the proofs must refuse every one.

    test/Verify/mutations.py [--count 260] [--seed 1]

Programs are models of ../shared under different recipes, uneven shards among them. Prints a table (kind of mutation, made, refused by the
communication proof, refused by the equivalence proof); exit status 1 if one slips through, if a program itself is refused, or if a kind was
never made.
"""

import argparse
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("PARA_SHARED", ROOT.parent / "shared"))
PARA_OPT = os.environ.get("PARA_OPT") or shutil.which("para-opt") or str(ROOT / "build" / "bin" / "para-opt")
PARA_MUTATE = os.environ.get("PARA_MUTATE", str(pathlib.Path(PARA_OPT).with_name("para-mutate")))

MLP, GPT, LLAMA = "onnx/torch/train_mlp_ce_odd", "onnx/torch/train_gpt_tied_lm", "onnx/torch/train_llama_gqa_tied_lm"
#: (model, what the recipe is, flags)
PROGRAMS = [
    (MLP, "ddp", ["--ranks=2", "--plan=ddp"]),
    (MLP, "zero1, uneven", ["--ranks=3", "--plan=zero1"]),
    (MLP, "zero3, uneven", ["--ranks=3", "--plan=zero3"]),
    (MLP, "tensor, uneven", ["--ranks=3", "--plan=tensor"]),
    (MLP, "pipeline", ["--ranks=2", "--plan=pipeline"]),
    (MLP, "one rank, microbatches", ["--microbatches=4"]),
    (GPT, "ddp, clipped", ["--ranks=2", "--plan=ddp", "--clip-norm=1"]),
    (GPT, "zero2", ["--ranks=4", "--plan=zero2"]),
    (GPT, "zero3", ["--ranks=2", "--plan=zero3"]),
    (GPT, "tensor, uneven", ["--ranks=3", "--plan=tensor"]),
    (GPT, "pipeline, clipped", ["--ranks=4", "--plan=pipeline", "--clip-norm=1"]),
    (GPT, "data x tensor", ["--mesh=data=2,tensor=2"]),
    (GPT, "zero1 x pipeline", ["--mesh=data=2,pipeline=2", "--zero=1"]),
    (GPT, "zero1 x zero bubble", ["--mesh=data=2,pipeline=2", "--zero=1", "--pipeline-schedule=zb-h1"]),
    (GPT, "interleaved pipeline", ["--ranks=2", "--plan=pipeline", "--pipeline-schedule=interleaved:2"]),
    (GPT, "data x zero bubble, folded", ["--mesh=data=2,pipeline=2", "--pipeline-schedule=zb-v"]),
    (GPT, "data x tensor x pipeline", ["--mesh=data=2,tensor=2,pipeline=2", "--clip-norm=1"]),
    (LLAMA, "data x tensor x pipeline", ["--mesh=data=2,tensor=2,pipeline=2"]),
    ("onnx/torch/train_cnn_bn_ce", "data, microbatches", ["--mesh=data=2", "--microbatches=2"]),
    (GPT, "data x tensor, full recomputation", ["--mesh=data=2,tensor=2", "--recompute=full"]),
    (GPT, "pipeline, selective recomputation", ["--ranks=2", "--plan=pipeline", "--recompute=selective"]),
    (GPT, "tensor, uneven sequence, full recomputation", ["--ranks=3", "--plan=tensor", "--sequence-parallel", "--recompute=full"]),
    (LLAMA, "tensor, sequence", ["--ranks=2", "--plan=tensor", "--sequence-parallel"]),
]


def compile_program(folder, number, model, flags):
    path = folder / f"{number}.mlir"
    command = [PARA_OPT, str(SHARED / model / "model.onnx"), "--train", *flags, "--emit=schedule", "-o", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{model} {' '.join(flags)}: the program itself is refused: {done.stderr.strip()}")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=260)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if not SHARED.is_dir():
        print(f"SKIPPED: no reference models at {SHARED} (set PARA_SHARED)")
        return 77
    made, refused = collections.Counter(), collections.Counter()
    by_communication = collections.Counter()
    slipped = []
    with tempfile.TemporaryDirectory(prefix="para-") as folder:
        for number, (model, recipe, flags) in enumerate(PROGRAMS):
            share = arguments.count * (number + 1) // len(PROGRAMS) - arguments.count * number // len(PROGRAMS)
            path = compile_program(pathlib.Path(folder), number, model, flags)
            done = subprocess.run([PARA_MUTATE, str(path), f"--seed={arguments.seed + number}", f"--count={share}"], capture_output=True, text=True)
            if done.returncode not in (0, 1):
                sys.exit(f"{model} {recipe}: {done.stderr.strip()}")
            for line in done.stdout.splitlines():
                kind, verdict, what, said = line.split("\t")
                made[kind] += 1
                refused[kind] += verdict == "refused"
                by_communication[kind] += verdict == "refused" and said.startswith("'para.")
                if verdict != "refused":
                    slipped.append(f"{kind}: {what} ({model}, {recipe})")
    kinds = subprocess.run([PARA_MUTATE, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
    print(f"{'mutation':<36}{'made':>6}{'refused':>9}   of these by the communication proof")
    for kind in kinds:
        print(f"{kind:<36}{made[kind]:>6}{refused[kind]:>9}{by_communication[kind]:>6}")
    print(f"{'together':<36}{sum(made.values()):>6}{sum(refused.values()):>9}{sum(by_communication.values()):>6}")
    for text in slipped:
        print(f"SLIPPED THROUGH: {text}")
    missing = [kind for kind in kinds if not made[kind]]
    if missing:
        print(f"never made: {', '.join(missing)}")
    return 1 if slipped or missing or sum(made.values()) < arguments.count else 0


if __name__ == "__main__":
    sys.exit(main())
