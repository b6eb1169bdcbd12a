#!/usr/bin/env python3
"""Experts and sequences cut over ranks, alone and with other axes: the numbers of the serial run.

    test/Execution/axes.py [--models moe,grouped,mixture,gpt,llama]

Models are made here: experts of bounded capacity (moe), the same in each half of a sequence (grouped), experts that all see every token (mixture), and two without (gpt, llama with grouped
heads and a sequence of odd length). Each mesh must give the serial float64 run of as many microbatches to 1e-11 (recipes.py), and exchange
tokens (all-to-all) where experts are cut. Exit status 1 if one does not.
"""

import argparse
import pathlib
import sys
import tempfile

import harness
from odd import make_model
from recipes import Tally, plan_of

MODELS = {
    "moe": ("moe", dict(layers=2, hidden=16, heads=2, vocab=31, seq=12, batch=8, experts=4, top_k=2, ffn=24)),
    "grouped": ("moe", dict(layers=2, hidden=16, heads=2, vocab=31, seq=12, batch=8, experts=4, top_k=2, ffn=24, groups=2, gated=False)),
    "mixture": ("llama", dict(layers=2, hidden=16, heads=2, vocab=31, seq=6, batch=8, experts=6, top_k=2, ffn=24)),
    "gpt": ("gpt", dict(layers=2, hidden=16, heads=4, vocab=31, seq=8, batch=4)),
    "llama": ("llama", dict(layers=2, hidden=24, heads=6, kv_heads=2, vocab=31, seq=7, batch=4, ffn=40)),
}
EXPERT = ["expert=2", "expert=2 --zero=1", "data=2,expert=2 --zero=3", "expert=2,tensor=2", "expert=2,pipeline=2 --microbatches=2", "expert=2,context=2 --zero=2", "expert=2,context=2,data=2 --microbatches=2", "tensor=2"]
CONTEXT = ["context=2", "context=3", "context=2,data=2 --zero=1", "context=2,tensor=2", "context=2,tensor=2 --sequence-parallel", "tensor=2,pipeline=3 --sequence-parallel --microbatches=2", "context=2,pipeline=2 --microbatches=2 --recompute=full", "context=4 --zero=3", "context=2,data=2 --microbatches=2", "context=3 --microbatches=4"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    arguments = parser.parse_args()
    base = ["--precision=f64", "--optimizer=adamw:lr=0.01,weight_decay=0.1"]
    tally = Tally()
    for name in arguments.models.split(","):
        family, sizes = MODELS[name]
        with tempfile.TemporaryDirectory(prefix="para-") as folder:
            model = make_model(folder, family, **sizes)
            tally.use(model, base, pathlib.Path(folder) / "data.npz")
            for text in (EXPERT + CONTEXT[:1] if "experts" in sizes else CONTEXT):
                flags, label = ["--mesh", *text.split()], f"{name:<10}{text:<52}"
                try:
                    worst = tally.compare(flags, plan_of(model, [*base, *flags]))
                    program = harness.call([harness.PARA_OPT, str(model), "--train", *base, *flags, "--emit=partition", "-o", "-"])
                    if "expert=" in text and "all_to_all" not in program:
                        worst = (float("inf"), "no tokens are exchanged")
                    tally.add(label, worst)
                except harness.Failed as error:
                    tally.fail(label, error)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
