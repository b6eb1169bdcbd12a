#!/usr/bin/env python3
"""Inference in 16-bit floats against float64, of models of f32 under --precision and of models whose own floats are 16-bit.

    test/Execution/inference.py [--models gpt_tied,unet_skip] [--precisions bf16,f16]

Prints one line a model and type with the largest error of the outputs over each output's largest element: under --precision, and of the file
with all its floats of 16 bits (parameters, constants, inputs and outputs) as it is, against that file under --precision=f64. Both must be below the
bound, parameters must be stored in 16 bits, and outputs have the types that the file declares. Exit status 1 if anything is otherwise.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx

import harness

NARROW = {"bf16": (onnx.TensorProto.BFLOAT16, ml_dtypes.bfloat16, 2.0**-8), "f16": (onnx.TensorProto.FLOAT16, np.float16, 2.0**-11)}
#: Errors of layers add up, as those of independent roundings do.
MOST = 4

MODELS = ["cnn_bn_residual", "encoder_padding_mask", "gpt_tied", "gpt_untied_opset13", "llama_gqa_tied", "moe_dense_topk", "rnn_gru", "rnn_lstm",
          "tv_squeezenet_c10", "tv_shufflenet_v2_tiny", "unet_skip"]


def narrow(model, precision):
    """The model with all its f32 of 16 bits."""
    number, numpy_type, _ = NARROW[precision]

    def convert(tensor):
        if tensor.data_type == onnx.TensorProto.FLOAT:
            limits = ml_dtypes.finfo(numpy_type)
            values = np.clip(onnx.numpy_helper.to_array(tensor), float(limits.min), float(limits.max)).astype(numpy_type)
            tensor.CopyFrom(onnx.helper.make_tensor(tensor.name, number, values.shape, values.tobytes(), raw=True))

    def visit(graph):
        for tensor in graph.initializer:
            convert(tensor)
        for value in [*graph.input, *graph.output, *graph.value_info]:
            if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
                value.type.tensor_type.elem_type = number
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    convert(attribute.t)
                if attribute.name == "to" and attribute.i == onnx.TensorProto.FLOAT:
                    attribute.i = number
                if attribute.type == onnx.AttributeProto.GRAPH:
                    visit(attribute.g)

    visit(model.graph)
    return model


def read_inputs(model, folder):
    values = {}
    names = [value.name for value in model.graph.input if value.name not in {tensor.name for tensor in model.graph.initializer}]
    for index, name in enumerate(names):
        values[name] = onnx.numpy_helper.to_array(onnx.load_tensor(str(folder / f"input_{index}.pb")))
    return values


def sizes_of(path, inputs):
    """The flags that give dimensions the sizes that the inputs have."""
    sizes = {}
    for value in onnx.load(str(path)).graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, np.shape(inputs.get(value.name, 0.0))):
            if dim.dim_param:
                sizes[dim.dim_param] = size
    return ["--dim", ",".join(f"{name}={size}" for name, size in sizes.items())] if sizes else []


def run(path, inputs, flags, scratch):
    """Outputs by name, and what --info tells."""
    harness.call([harness.PARA_OPT, str(path), "-o", f"{scratch}/model", *sizes_of(path, inputs), *flags])
    np.savez(f"{scratch}/inputs.npz", **inputs)
    harness.call([f"{scratch}/model", "--inputs", f"{scratch}/inputs.npz", "--outputs", f"{scratch}/outputs.npz"])
    outputs = {}
    for name, value in np.load(f"{scratch}/outputs.npz").items():
        outputs[name] = value
    return outputs, json.loads(harness.call([f"{scratch}/model", "--info=json"]))


def error(found, expected):
    worst = 0.0
    for name, value in expected.items():
        if np.asarray(value).dtype.kind == "f" and np.size(value):
            difference = np.abs(np.asarray(found[name], np.float64) - value)
            worst = max(worst, harness.ratio(difference, float(np.max(np.abs(value)))))
    return worst


def compare(folder, precision, scratch):
    """(errors as text, note)"""
    kind = precision
    model = onnx.load(str(folder / "model.onnx"))
    inputs = read_inputs(model, folder / "test_data_set_0")
    expected, _ = run(folder / "model.onnx", {name: value.astype(np.float64) if value.dtype == np.float32 else value for name, value in inputs.items()},
                      ["--precision=f64"], scratch)
    mixed, info = run(folder / "model.onnx", inputs, [f"--precision={precision}"], scratch)
    declared = {value.name: value.type.tensor_type.elem_type for value in model.graph.output}
    faults = [name for name, value in mixed.items() if declared[name] == onnx.TensorProto.FLOAT and np.asarray(value).dtype != np.float32]
    errors = [error(mixed, expected)]
    trained = [parameter for parameter in info["parameters"] if parameter["trainable"] and len(parameter["shape"]) > 1]
    if trained and not any(parameter["type"] == kind for parameter in trained):
        faults.append("no parameter is stored in 16 bits")
    own = pathlib.Path(scratch) / "own.onnx"
    onnx.save(narrow(model, precision), str(own))
    rounded = {name: value.astype(NARROW[precision][1]) if value.dtype == np.float32 else value for name, value in inputs.items()}
    wide = {name: value.astype(np.float64) if name in inputs and inputs[name].dtype == np.float32 else value for name, value in rounded.items()}
    expected, _ = run(own, wide, ["--precision=f64"], scratch)
    # numpy's files have no bf16: the program takes f32 that it holds.
    kept, info = run(own, {name: value.astype(np.float32) if value.dtype == ml_dtypes.bfloat16 else value for name, value in rounded.items()}, [], scratch)
    faults += [entry["name"] for entry in info["outputs"] if entry["type"] not in (kind, "bool") and not entry["type"].startswith("i")]
    errors.append(error(kept, expected))
    text = " ".join(f"{value:8.1e}" for value in errors)
    return text, f"wrong types: {faults}" if faults else "" if max(errors) <= MOST * NARROW[precision][2] else "the outputs are off"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--precisions", default=",".join(NARROW))
    arguments = parser.parse_args()
    harness.require_shared()
    passed = failed = 0
    for name in arguments.models.split(","):
        for precision in arguments.precisions.split(","):
            with tempfile.TemporaryDirectory(prefix="para-") as scratch:
                try:
                    text, note = compare(harness.SHARED / "onnx" / "torch" / name, precision, scratch)
                except harness.Failed as fault:
                    text, note = "FAILED", str(fault)
            passed, failed = passed + (not note), failed + bool(note)
            print(f"{name:<28} {precision:<5} {text}{' ! ' + note if note else ''}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
