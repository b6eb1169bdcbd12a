#!/usr/bin/env python3
"""Plans written into models as ONNX's multi-device annotations and read back: the same plan, and the serial numbers.

    test/Execution/annotated.py

A small GPT made here, under plans of up to eight ranks. The annotated file must pass ONNX's checker and differ from the model in
nothing else; read with no flags about plans it must give the same mesh, stages and cuts of parameters, be written again as the same bytes, and
train on host ranks with the numbers of the serial run to 1e-11 (recipes.py). Inference too: outputs against the serial ones. Of plans with random
constraints on values (shards.py) the file must be written again as it was. Exit status 1 if one does not.
"""

import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

import numpy as np

import harness
from odd import make_model
from recipes import Tally
from shards import MESHES, ask

#: random sets of constraints, and what is said of one that no plan honours
RANDOM, REFUSED = 24, "refused"

#: flags of the plan -> flags that ONNX has no words for
PLANS = [
    (["--mesh", "data=4"], []),
    (["--mesh", "tensor=4"], []),
    (["--mesh", "tensor=3"], []),
    (["--mesh", "data=2,tensor=2"], []),
    (["--mesh", "data=2,tensor=2", "--sequence-parallel"], []),
    (["--mesh", "context=2,tensor=2"], []),
    (["--mesh", "pipeline=3"], ["--microbatches", "2"]),
    (["--mesh", "data=2,tensor=2,pipeline=2"], ["--microbatches", "2", "--zero=1"]),
    (["--ranks", "4", "--plan=zero3"], ["--zero=3"]),
    (["--ranks", "4"], ["--microbatches", "1"]),
    (["--mesh", "data=2,tensor=2"], ["--shard", "transformer.wte.weight=[tensor,data]"]),
    (["--mesh", "data=2,tensor=2", "--shard", "transformer.wte.weight=[_,tensor]", "--shard", "/transformer/h.0/mlp/c_fc/MatMul=[tensor,data,_]"], []),
]


def placement(model, flags):
    """Mesh, stages of ops and cuts of arguments of an annotated program."""
    text = harness.call([harness.PARA_OPT, str(model), *flags, "--emit=plan", "-o", "-"])
    return re.findall(r"para.mesh = [^>]*>", text), re.findall(r'para.name = "[^"]*"[^{}]*?para.sharding = #para.sharding<[^>]*>', text), re.findall(r"para.stage = \d+", text)


def infer(model, flags, folder):
    exe = f"{folder}/infer"
    harness.call([harness.PARA_OPT, str(model), "--precision=f64", "-o", exe, *flags])
    harness.call([exe, "--inputs", f"{folder}/one.npz", "--outputs", f"{folder}/out.npz", "--threads", "1", "--progress=never"])
    return dict(np.load(f"{folder}/out.npz"))


def check_file(first, second):
    script = f"""
import sys
sys.path.insert(0, {str(harness.ROOT / 'test' / 'Driver' / 'Inputs')!r})
import onnx, annotated
model = onnx.load(sys.argv[2], load_external_data=False)
stages = 1 + max(node.device_configurations[0].pipeline_stage for node in model.graph.node)
annotated.check(sys.argv[1], sys.argv[2], model.configuration[0].num_devices, stages)
"""
    harness.call([str(harness.ROOT / ".venv" / "bin" / "python"), "-c", script, str(first), str(second)])


def check_random(model, folder, rng):
    """Writes a plan of random constraints twice, with the flags that ONNX has no words for; the flags, and what is wrong."""
    flags = ["--mesh", rng.choice([*MESHES, "data=2,tensor=1,pipeline=2", "data=1,tensor=2,pipeline=2"])]
    for name, dims in dict(ask(rng) for _ in range(rng.randrange(1, 4))).items():
        flags += ["--shard", f"{name}=[{','.join(dims)}]"]
    if "tensor=2" in flags[1] and rng.random() < 0.3:
        flags.append("--sequence-parallel")
    first, second = pathlib.Path(folder) / "first.onnx", pathlib.Path(folder) / "second.onnx"
    done = subprocess.run([harness.PARA_OPT, str(model), "--train", *flags, "--emit=onnx", "-o", str(first)], capture_output=True, text=True)
    if done.returncode == 1 and "--sequence-parallel" in done.stderr or done.returncode == 3:
        return flags, REFUSED  # nothing can stay cut so
    if done.returncode:
        return flags, done.stderr
    unsaid = shlex.split(done.stderr.partition("to be given again as ")[2])
    done = subprocess.run([harness.PARA_OPT, str(first), "--train", *unsaid, "--emit=onnx", "-o", str(second)], capture_output=True, text=True)
    if done.returncode:
        return flags, done.stderr
    return flags, None if first.read_bytes() == second.read_bytes() else "written again it is another file"


def main():
    base = ["--precision=f64", "--optimizer=adamw:lr=0.01,weight_decay=0.1"]
    tally, refused = Tally(), 0
    with tempfile.TemporaryDirectory(prefix="para-") as folder:
        model = make_model(folder, layers=2, hidden=12, heads=4, vocab=31, seq=5, batch=8)
        data = pathlib.Path(folder) / "data.npz"
        np.savez(f"{folder}/one.npz", **{name: values[:8] for name, values in np.load(data).items()})
        tally.use(model, base, data)
        outputs = infer(model, [], folder)
        for plan, unsaid in PLANS:
            label = " ".join(plan + unsaid) + "\n  "
            try:
                annotated, again = pathlib.Path(folder) / "annotated.onnx", pathlib.Path(folder) / "again.onnx"
                write = [harness.PARA_OPT, str(model), "--train", *base, *plan, *unsaid, "--emit=onnx", "-o", str(annotated)]
                harness.call(write)
                check_file(model, annotated)
                harness.call([harness.PARA_OPT, str(annotated), "--train", *base, *unsaid, "--emit=onnx", "-o", str(again)])
                if annotated.read_bytes() != again.read_bytes():
                    raise harness.Failed("written again it is another file")
                if placement(model, ["--train", *base, *plan, *unsaid]) != placement(annotated, ["--train", *base, *unsaid]):
                    raise harness.Failed("read back it is another plan")
                trained = tally.compare(unsaid, 2 if unsaid[:2] == ["--microbatches", "2"] else 1, of=annotated)
                there = infer(annotated, [], folder)
                inferred = max((harness.ratio(np.abs(there[key] - value), np.abs(value).max()), f"output {key}") for key, value in outputs.items())
                tally.add(label, max(trained, inferred))
            except harness.Failed as error:
                tally.fail(label, error)
        rng = random.Random(5)
        for _ in range(RANDOM):
            flags, wrong = check_random(model, folder, rng)
            if wrong == REFUSED:
                refused += 1
                continue
            if wrong:
                tally.fail(f"{' '.join(flags)}\n  ", wrong)
            else:
                tally.passed += 1
    if 2 * refused > RANDOM:
        tally.fail("random sets: ", f"{refused} of {RANDOM} are refused: too many to show anything")
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
