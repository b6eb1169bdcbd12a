#!/usr/bin/env python3
"""Values cut as --shard asks: the program has what was asked, and gives the serial numbers.

    test/Execution/shards.py

Random constraints on parameters, inputs and nodes of a small GPT and an MLP made here, on meshes of 2 x 2, 3 x 1 and 1 x 4; each must be in the
annotated program as it was asked, and the run equal the serial one to 1e-11 (recipes.py). Exit status 1 if one does not.
"""

import pathlib
import random
import re
import sys
import tempfile

import harness
from odd import make_model
from recipes import Tally

#: value -> its dimensions
VALUES = {"input_ids": 2, "transformer.wte.weight": 2, "transformer.h.0.attn.c_attn.weight": 2, "transformer.h.0.mlp.c_fc.weight": 2, "transformer.h.1.mlp.c_fc.bias": 1,
          "transformer.h.1.ln_1.weight": 1, "/transformer/h.0/mlp/c_fc/MatMul": 3, "/transformer/h.1/attn/c_proj/MatMul": 3, "/transformer/h.0/ln_2/LayerNormalization": 3}
#: an axis of one rank cuts nothing, where the mesh says that it has one
MESHES = ("data=2,tensor=2", "data=3,tensor=1", "data=1,tensor=4")


def ask(rng):
    name = rng.choice(sorted(VALUES))
    free = ["data", "tensor"]
    dims = []
    for _ in range(VALUES[name]):
        kind = rng.choice(["_", "?", "cut", "cut"])
        if kind == "cut" and free:
            dims.append(free.pop(rng.randrange(len(free))))
        else:
            dims.append("_" if kind == "cut" else kind)
    return name, dims


def main():
    base = ["--precision=f64", "--optimizer=adamw:lr=0.01,weight_decay=0.1"]
    rng = random.Random(5)
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="para-") as folder:
        model = make_model(folder, layers=2, hidden=12, heads=3, vocab=31, seq=5, batch=6)
        tally.use(model, base, pathlib.Path(folder) / "data.npz")
        for number in range(24):
            mesh = MESHES[number % len(MESHES)]
            asked = dict(ask(rng) for _ in range(rng.randrange(1, 4)))
            flags = ["--mesh", mesh]
            for name, dims in asked.items():
                flags += ["--shard", f"{name}=[{','.join(dims)}]"]
            label = f"{' '.join(flags)}\n  "
            try:
                text = harness.call([harness.PARA_OPT, str(model), "--train", *base, *flags, "--emit=plan", "-o", "-"])
                worst = tally.compare(flags, 1)
            except harness.Failed as error:
                tally.fail(label, error)
                continue
            sizes = dict(item.split("=") for item in mesh.split(","))
            wrong = []
            for name, dims in asked.items():
                found = re.search(rf'para.name = "{re.escape(name)}", para.sharding = #para.sharding<\[(.*?)\]>', text)
                if found:  # of nodes, the numbers alone speak
                    there = re.findall(r"\[(.*?)\]", found.group(1))
                    for dim, has in zip(dims, there):
                        if dim not in "_?" and sizes.get(dim, "1") != "1" and f'"{dim}"' not in has or dim == "_" and '"' in has.replace('"microbatch"', ""):
                            wrong.append(name)
            if wrong:
                tally.fail(label, f"not cut as asked: {', '.join(wrong)}")
            else:
                tally.add(label, worst)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
