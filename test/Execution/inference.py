#!/usr/bin/env python3
"""Inference in 16-bit floats against float64, of models of f32 under --precision and of models whose own floats are 16-bit.

    test/Execution/inference.py [--models gpt_tied,unet_skip] [--precisions bf16,f16]

Prints one line a model and type with the largest error of the outputs over each output's largest element: under --precision, and of the file
with all its floats of 16 bits (parameters, constants, inputs and outputs) as it is, against that file under --precision=f64; and what it costs ONNX
Runtime to round each value of the model to the type, computing in f32. Both errors must be below the bound, weights must be stored in 16 bits, and
outputs have the types that the file declares. Exit status 1 if anything is otherwise.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
import onnx.inliner

import harness

NARROW = {"bf16": (onnx.TensorProto.BFLOAT16, ml_dtypes.bfloat16, 2.0**-8), "f16": (onnx.TensorProto.FLOAT16, np.float16, 2.0**-11)}
#: Errors of layers add up, as those of independent roundings do; where that is more, it is measured what they come to.
MOST = 4
#: Where rounding alone costs more than this, the numbers are none of the type.
LOST = 0.1

MODELS = ["cnn_bn_residual", "edge_negative_axes", "encoder_padding_mask", "gpt_functions", "gpt_tied",
          "gpt_untied_opset13", "llama_gqa_tied", "moe_dense_topk", "rnn_gru", "rnn_lstm", "rnn_lstm_bi", "rnn_rnn", "tv_efficientnet_style_convnext_tiny",
          "tv_mnasnet_w01", "tv_mobilenet_v2_w025", "tv_squeezenet_c10", "tv_shufflenet_v2_tiny", "unet_skip"]
#: Never trained, and their numbers fade to 1e-8 from layer to layer, less than f16 has.
FADING = {"tv_mnasnet_w01", "tv_mobilenet_v2_w025"}


def strengthen(model):
    """The model with weights of convolutions that keep a deviation of 1 through rectifiers, as those of a trained model do."""
    weights = {node.input[1] for node in model.graph.node if node.op_type == "Conv"}
    for tensor in model.graph.initializer:
        if tensor.name in weights:
            values = onnx.numpy_helper.to_array(tensor)
            values = values * (np.sqrt(2 / np.prod(values.shape[1:])) / values.std())
            tensor.CopyFrom(onnx.numpy_helper.from_array(values.astype(np.float32), tensor.name))
    return model


def get_rounding_error(model, inputs, number):
    """What rounding to the type changes of the outputs: of parameters and inputs, and of what nodes make, measured apart, for together they may cancel."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, 3

    def infer(model):
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs)))

    model = onnx.shape_inference.infer_shapes(onnx.inliner.inline_local_functions(model))
    expected = {name: value.astype(np.float64) for name, value in infer(model).items()}
    graph = model.graph
    given = [tensor.name for tensor in graph.initializer] + [value.name for value in graph.input if value.name in inputs]
    made = [name for node in graph.node for name in node.output if name not in expected]
    return sum(error(infer(round_values(model, set(names), number)), expected) for names in (given, made))


def round_values(model, names, number):
    """The model with those of the named values that are f32 rounded to the type."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph = model.graph
    types = {value.name: value.type.tensor_type.elem_type for value in [*graph.value_info, *graph.input]}
    types |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    nodes, rounded = [], {}

    def visit(values):
        for name in values:
            if name in names and types.get(name) == onnx.TensorProto.FLOAT:
                nodes.append(onnx.helper.make_node("Cast", [name], [f"{name}/narrow"], to=number))
                nodes.append(onnx.helper.make_node("Cast", [f"{name}/narrow"], [f"{name}/rounded"], to=onnx.TensorProto.FLOAT))
                rounded[name] = f"{name}/rounded"

    visit([tensor.name for tensor in graph.initializer])
    visit([value.name for value in graph.input if value.name not in rounded])
    for node in graph.node:
        for index, name in enumerate(node.input):
            node.input[index] = rounded.get(name, name)
        nodes.append(node)
        visit(node.output)
    del graph.node[:]
    graph.node.extend(nodes)
    return model


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

    model = onnx.inliner.inline_local_functions(model)
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
    path, own = folder / "model.onnx", pathlib.Path(scratch) / "own.onnx"
    model = onnx.load(str(path))
    if folder.name in FADING:
        path = pathlib.Path(scratch) / "strong.onnx"
        onnx.save(strengthen(model), str(path))
    inputs = read_inputs(model, folder / "test_data_set_0")
    rounding = get_rounding_error(model, inputs, NARROW[precision][0])
    expected, _ = run(path, {name: value.astype(np.float64) if value.dtype == np.float32 else value for name, value in inputs.items()},
                      ["--precision=f64"], scratch)
    mixed, info = run(path, inputs, [f"--precision={precision}"], scratch)
    declared = {value.name: value.type.tensor_type.elem_type for value in model.graph.output}
    faults = [name for name, value in mixed.items() if declared[name] == onnx.TensorProto.FLOAT and np.asarray(value).dtype != np.float32]
    errors = [error(mixed, expected)]
    sizes = {False: 0, True: 0}
    for parameter in info["parameters"]:
        sizes[parameter["type"] == kind] += np.prod(parameter["shape"]) if len(parameter["shape"]) > 1 else 0
    if sizes[True] < 4 * sizes[False]: # what is added, as tables of positions are, stays as it is
        faults.append(f"of weights, {sizes[False]} elements are not stored in 16 bits, and {sizes[True]} are")
    onnx.save(narrow(model, precision), str(own))
    rounded = {name: value.astype(NARROW[precision][1]) if value.dtype == np.float32 else value for name, value in inputs.items()}
    wide = {name: value.astype(np.float64) if name in inputs and inputs[name].dtype == np.float32 else value for name, value in rounded.items()}
    expected, _ = run(own, wide, ["--precision=f64"], scratch)
    # numpy's files have no bf16: the program takes f32 that it holds.
    kept, info = run(own, {name: value.astype(np.float32) if value.dtype == ml_dtypes.bfloat16 else value for name, value in rounded.items()}, [], scratch)
    faults += [entry["name"] for entry in info["outputs"] if entry["type"] not in (kind, "bool") and not entry["type"].startswith("i")]
    errors.append(error(kept, expected))
    text = " ".join(f"{value:8.1e}" for value in [*errors, rounding])
    note = (f"wrong types: {faults}" if faults else "no numbers of this type" if not rounding <= LOST
            else "" if max(errors) <= max(MOST * NARROW[precision][2], rounding) else "the outputs are off")
    return text, note


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
                    text, note = compare(harness.SHARED / "onnx" / (name if "/" in name else f"torch/{name}"), precision, scratch)
                except harness.Failed as fault:
                    text, note = "FAILED", str(fault)
            passed, failed = passed + (not note), failed + bool(note)
            print(f"{name:<28} {precision:<5} {text}{' ! ' + note if note else ''}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
