"""run-annotated.py FOLDER PARA-OPT: compiles the cases of test/Plan/Inputs/annotate.py, runs each on as many ranks as it has devices, and compares
the outputs with those of the model without annotations."""

import pathlib
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
CASES = {"megatron": 2, "grid": 4, "batch": 4, "units": 2, "blocks": 2, "pipeline": 4, "staged": 2, "named": 4, "contrary": 4}


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


def outputs(folder, para_opt, case, ranks):
    model, exe = folder / f"{case}.onnx", folder / case
    run(sys.executable, HERE.parents[1] / "Plan" / "Inputs" / "annotate.py", case, model)
    run(para_opt, model, "--precision=f64", "-o", exe)
    run(exe, "--ranks", ranks, "--threads", 1, "--inputs", folder / "x.npz", "--outputs", folder / "y.npz", "--progress=never")
    return np.load(folder / "y.npz")["y"]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    np.savez(folder / "x.npz", x=np.random.default_rng(5).standard_normal((8, 4)).astype(np.float32))
    serial = outputs(folder, sys.argv[2], "plain", 1)
    for case, ranks in CASES.items():
        off = np.abs(outputs(folder, sys.argv[2], case, ranks) - serial).max()
        assert off <= 1e-12 * np.abs(serial).max(), (case, off)


if __name__ == "__main__":
    main()
