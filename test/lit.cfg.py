# What all lit tests share. Features: `shared` (the reference models lie beside the repository, or where PARA_SHARED says),
# `mpi` (mpirun is there), `zstd`, `cuda` (ptxas is there). A folder's lit.local.cfg adds what only its tests need.
import os
import shutil

import lit.formats
from lit.llvm import llvm_config

config.name = "para"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.para_build_root, "test")

shared = os.environ.get("PARA_SHARED", os.path.join(os.path.dirname(config.para_source_root), "shared"))
if os.path.isdir(os.path.join(shared, "training")):
    config.available_features.add("shared")
if shutil.which("mpirun"):
    config.available_features.add("mpi")
if shutil.which("zstd"):
    config.available_features.add("zstd")
if shutil.which("ptxas") or os.path.exists("/usr/local/cuda/bin/ptxas"):
    config.available_features.add("cuda")

config.environment["PYTHONPATH"] = os.path.join(config.para_source_root, "python")
config.substitutions += [
    ("%venv-python", os.path.join(config.para_source_root, ".venv", "bin", "python")),
    ("%shared", shared),
    ("%exit-with", "sh " + os.path.join(config.test_source_root, "exit-with.sh")),
    ("%tools-dir", os.path.join(config.para_build_root, "bin")),
    ("%source-root", config.para_source_root),
    ("%import-tools", os.path.join(config.para_source_root, "test", "Import")),
]
llvm_config.use_default_substitutions()
llvm_config.with_environment("PATH", os.path.join(config.para_build_root, "bin"), append_path=True)
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
config.environment["HOME"] = os.environ.get("HOME", "/tmp")  # where the measured machine is kept
tools = [os.path.join(config.para_build_root, "bin"), config.llvm_tools_dir]
llvm_config.add_tool_substitutions(["para-opt", "para-solve", "para-cost", "para-import-test", "split-file"], tools)
