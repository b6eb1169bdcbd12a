"""Compiles models and runs them: what the tables of this folder share."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("PARA_SHARED", ROOT.parent / "shared"))
PARA_OPT = os.environ.get("PARA_OPT", str(ROOT / "build" / "bin" / "para-opt"))

#: Models of the tables: short name -> folder under ../shared.
MODELS = {
    "mlp": "onnx/torch/train_mlp_ce_odd",
    "gpt": "onnx/torch/train_gpt_tied_lm",
    "llama": "onnx/torch/train_llama_gqa_tied_lm",
    "cnn": "onnx/torch/train_cnn_bn_ce",
    "lora": "onnx/torch/train_lora_frozen",
    "embedding": "onnx/torch/train_embedding_bag_pad",
    "llama_gqa": "training/llama_gqa",
    "gpt2_hf": "training/gpt2_hf",
    "bert_mlm": "training/bert_mlm",
    "vit_cls": "training/vit_cls",
    "resnet_bn": "training/resnet_bn",
}


class Failed(Exception):
    """A program that did not end well; the text is what it said."""


def require_shared():
    """Ends the script, aloud, where the reference models are not there."""
    if not SHARED.is_dir():
        print(f"SKIPPED: no reference models at {SHARED} (set PARA_SHARED)")
        sys.exit(77)


def call(command, timeout=300, **kwargs):
    """Runs a command; returns its standard output, raises Failed with all that it said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **kwargs)
    except subprocess.TimeoutExpired:
        raise Failed(f"{pathlib.Path(command[0]).name}: no end after {timeout} s") from None
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if "note:" not in line]
        raise Failed(f"{pathlib.Path(command[0]).name} exit {done.returncode}: " + " | ".join(said[:3]))
    return done.stdout


def ratio(error, scale):
    """Largest error over a scale: infinite where anything is not a number, or where there is an error and no scale."""
    if not np.size(error):
        return 0.0
    largest = float(np.max(error))  # a NaN comes through
    if not np.isfinite(largest):
        return float("inf")
    return 0.0 if largest == 0 else largest / scale if scale > 0 else float("inf")


class Run:
    """Result of a training run: `metrics` (a dict a step), `state` and `gradients` (arrays by name)."""

    def __init__(self, metrics, state, gradients):
        self.metrics, self.state, self.gradients = metrics, state, gradients


def freeze_flags(folder):
    """Flags that make the trained parameters those of the reference."""
    if not (folder / "train_ref.json").exists():
        return []
    reference = json.loads((folder / "train_ref.json").read_text())
    frozen = reference.get("frozen") or []
    return ["--freeze", "|".join(frozen)] if frozen else []


class ParameterNames:
    """Finds a parameter of a reference among a program's arrays: the file may have it under another name, or tied."""

    def __init__(self, facts):
        renamed = facts.get("files", {}).get("model.onnx", {}).get("params_not_under_own_name", {})
        self.aliases = {name: found["initializer"] for name, found in renamed.items() if found and "initializer" in found}
        self.tied = facts.get("tied", [])

    def __call__(self, values, parameter):
        for key in (parameter, self.aliases.get(parameter), *self.tied):
            if key in values:
                return values[key]
        raise KeyError(f"{parameter} is not in the program's dump")


def train(model, compile_flags, steps=3, data=None, threads=1, run_flags=(), timeout=300):
    """Compiles `model` (a path) for training and runs it; everything happens in a folder that is gone afterwards."""
    model = pathlib.Path(model)
    data = data or model.parent / "test_data_set_0"
    with tempfile.TemporaryDirectory(prefix="para-") as folder:
        exe = f"{folder}/model"
        call([PARA_OPT, str(model), "--train", "--keep-gradients", "-o", exe, *compile_flags], timeout)
        call([exe, "--data", str(data), "--steps", str(steps), "--threads", str(threads), "--metrics", f"{folder}/metrics.jsonl",
              "--dump-state", f"{folder}/state.npz", "--dump-grads", f"{folder}/gradients.npz", "--progress=never", *run_flags], timeout)
        metrics = [{key: np.nan if value is None else value for key, value in json.loads(line).items()} for line in open(f"{folder}/metrics.jsonl")]
        return Run(metrics, dict(np.load(f"{folder}/state.npz")), dict(np.load(f"{folder}/gradients.npz")))
