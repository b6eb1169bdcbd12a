#!/usr/bin/env python3
"""Programs for CUDA on machines whose libraries are missing or old: stand-ins that export the names of runtime/cuda/Symbols.h and do nothing."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Execution"))
import harness

SYMBOLS = (HERE.parents[1] / "runtime" / "cuda" / "Symbols.h").read_text()
FILES = {"DRIVER": ["libcuda.so.1"], "BLAS": ["libcublasLt.so.13", "libcublasLt.so.12"], "DNN": ["libcudnn.so.9"], "NCCL": ["libnccl.so.2"]}
#: What a stand-in does beside nothing; a device has memory for the host and is of some kind.
BODIES = {
    "cuDriverGetVersion": "(int *v) { *v = VERSION; return 0; }",
    "cuDeviceGetCount": "(int *v) { *v = 2; return 0; }",
    "cuDeviceGetAttribute": "(int *v) { *v = 9; return 0; }",
    "cuMemAllocHost_v2": "(void **p, size_t n) { return (*p = malloc(n)) ? 0 : 2; }",
    "cublasLtGetVersion": "(void) { return VERSION; }",
    "cudnnGetVersion": "(void) { return VERSION; }",
    "ncclGetVersion": "(int *v) { *v = VERSION; return 0; }",
}
NEW = {"DRIVER": 12000, "BLAS": 120000, "DNN": 90000, "NCCL": 21800}


def build(folder, table, version, lacks=None):
    """A library of a version, without one of its functions."""
    names = re.findall(r'X\([^"]*"(\w+)"', SYMBOLS.split(f"#define PARA_{table}_SYMBOLS(X)")[1].split("\n\n")[0])
    assert len(names) > 10 and (lacks is None or lacks in names), (table, names)
    source = "#include <stdlib.h>\n" + "".join(f"long {name}{BODIES.get(name, '(void) { return 0; }')}\n" for name in names if name != lacks)
    compiler = [shutil.which("clang-22") or "clang", "-w", "-shared", "-fPIC", f"-DVERSION={version}", "-x", "c", "-"]
    subprocess.run([*compiler, "-o", f"{folder}/made.so"], input=source, text=True, check=True)
    for name in FILES[table]:
        shutil.copy(f"{folder}/made.so", f"{folder}/{name}")


def main():
    harness.require_shared()
    failed = 0

    def expect(program, data, libraries, said):
        nonlocal failed
        with tempfile.TemporaryDirectory(prefix="para-") as folder:
            for name in sum(FILES.values(), []):  # The machine's own are hidden by files that are no libraries.
                open(f"{folder}/{name}", "w").close()
            for table, (version, lacks) in libraries.items():
                build(folder, table, version, lacks)
            command = [program, "--data", str(data), "--steps=1", "--progress=never"]
            done = subprocess.run(command, env={**os.environ, "LD_LIBRARY_PATH": folder}, capture_output=True, text=True, timeout=60)
        if done.returncode != 1 or said not in done.stderr or done.stderr.count("para: ") != 1:
            failed += 1
            print(f"FAILED: {libraries}: status {done.returncode}, expected '{said}': {done.stderr}")
        else:
            print(f"ok: {said}")

    with tempfile.TemporaryDirectory(prefix="para-") as folder:
        programs = {}
        for name, model, flags in (("one", "mlp", []), ("two", "mlp", ["--ranks=2", "--plan=ddp"]), ("images", "cnn", [])):
            source = harness.SHARED / harness.MODELS[model]
            harness.call([harness.PARA_OPT, str(source / "model.onnx"), "--train", "--target=cuda", "--arch=sm_80", *harness.freeze_flags(source), *flags,
                          "-o", f"{folder}/{name}"])
            programs[name] = (f"{folder}/{name}", source / "test_data_set_0")
        good = {"DRIVER": (NEW["DRIVER"], None)}
        one, two, images = programs["one"], programs["two"], programs["images"]
        expect(*one, {"DRIVER": (11080, None)}, "para: this machine's NVIDIA driver is for CUDA 11.8; one for CUDA 12.0 or later is needed")
        expect(*one, {"DRIVER": (12000, "cuGraphLaunch")}, "para: this machine's NVIDIA driver is too old: it has no cuGraphLaunch; one for CUDA 12.0 or later is needed")
        expect(*one, good, ": libcublasLt.so.13 or .12 (cuBLASLt, of the CUDA toolkit) is not there: it computes this program's matrix products")
        expect(*one, {**good, "BLAS": (110900, None)}, "this machine's cuBLASLt is 11.9; 12.0 or later is needed")
        expect(*one, {**good, "BLAS": (120000, "cublasLtMatmul")}, "this machine's cuBLASLt is too old: it has no cublasLtMatmul; that of CUDA 12.0 or later is needed")
        expect(*two, good, "para: libnccl.so.2 (NCCL) is not there: ranks talk by it")
        expect(*two, {**good, "NCCL": (21708, None)}, "para: this machine's NCCL is 2.17; 2.18 or later is needed")
        expect(*two, {**good, "NCCL": (21800, "ncclCommSplit")}, "para: this machine's NCCL is too old: it has no ncclCommSplit; 2.18 or later is needed")
        expect(*images, {**good, "BLAS": (120000, None)}, ": libcudnn.so.9 (cuDNN 9) is not there: it computes this program's convolutions")
        expect(*images, {**good, "BLAS": (120000, None), "DNN": (8907, None)}, "this machine's cuDNN is 8.9; 9.0 or later is needed")
        expect(*images, {**good, "BLAS": (120000, None), "DNN": (90000, "cudnnConvolutionForward")},
               "this machine's cuDNN is too old: it has no cudnnConvolutionForward; version 9 or later is needed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
