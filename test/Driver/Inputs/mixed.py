"""A model of f32 and f16, whose f32 products, sums and tables are beyond f16. mixed.py write MODEL.onnx INPUTS.npz DATA.npz [f16]: writes it, an input and
a training set; with f16, all its arrays are of that; infers MODEL.onnx INPUTS.npz OUTPUTS.npz: the outputs are ONNX Runtime's and have its types;
state FILE.npz: a state of f32 without loss scale; blown DATA.npz OUT.npz: small numbers after 155 batches of infinite ones; still METRICS SCALE: steps
whose gradients are not finite leave no less than SCALE, and finite ones follow."""
import json
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

EXAMPLES, BATCH = 64, 8
BAD_STEPS = 155  # after which a scale that only halves is zero in f32


def write(path, inputs, data, all_of="f32"):
    random = np.random.default_rng(0)
    node, wide = helper.make_node, np.float16 if all_of == "f16" else np.float32
    nodes = [node("Cast", ["w"], ["w32"], to=1), node("MatMul", ["x", "w32"], ["p"]), node("Cast", ["b"], ["b32"], to=1), node("Add", ["p", "b32"], ["h"]),
             node("Gather", ["t", "i"], ["g"]), node("Cast", ["g"], ["g32"], to=1), node("Add", ["h", "g32"], ["y"]),
             node("Mul", ["y", "scale"], ["s"]), node("Cast", ["s"], ["s16"], to=10), node("MatMul", ["s16", "v"], ["z"]),
             node("Cast", ["z"], ["z32"], to=1), node("Sub", ["z32", "target"], ["d"]), node("Cast", ["d"], ["d16"], to=10),
             node("Mul", ["d", "d"], ["q"]), node("ReduceMean", ["q"], ["loss"], keepdims=0)]
    arrays = {"w": random.standard_normal((16, 12)).astype(wide) * wide(500), "t": random.standard_normal((9, 12)).astype(wide) * wide(2e5 if wide == np.float32 else 200),
              "b": random.standard_normal(12).astype(np.float16), "v": random.standard_normal((12, 6)).astype(np.float16), "scale": np.array(1e-6, np.float32)}
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", 1, ["batch", 16]), value("i", 7, ["batch"]), value("target", 1, ["batch", 6])],
                              [value("loss", 1, []), value("y", 1, ["batch", 12]), value("z", 10, ["batch", 6]), value("d", 1, ["batch", 6]), value("d16", 10, ["batch", 6])],
                              [numpy_helper.from_array(array, name) for name, array in arrays.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    values = {"x": (random.standard_normal((EXAMPLES, 16)) * 300).astype(np.float32), "i": random.integers(0, 9, EXAMPLES),
              "target": random.standard_normal((EXAMPLES, 6)).astype(np.float32)}
    np.savez(data, **values)
    np.savez(inputs, **{name: array[:BATCH] for name, array in values.items()})


def infers(path, inputs, outputs):
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    expected, found = dict(zip(names, session.run(None, dict(np.load(inputs))))), np.load(outputs)
    assert np.abs(expected["y"]).max() > 6e5, expected["y"]
    for name, bound in (("y", 1e-6), ("z", 2e-3), ("d", 2e-3), ("d16", 2e-3), ("loss", 2e-3)):
        value = expected[name].astype(np.float64)
        difference = np.abs(found[name].astype(np.float64) - value).max() / np.abs(value).max()
        assert found[name].dtype == expected[name].dtype and difference <= bound, (name, found[name].dtype, difference)
    assert (found["d"] != found["d"].astype(np.float16)).any() and (found["d16"] == found["d"].astype(np.float16)).all(), found["d"]  # of which one is rounded


def state(path):
    values = np.load(path)
    assert {"w", "t", "b", "v"} <= set(values.files) and not any("loss_scale" in name for name in values.files), values.files
    assert {values[name].dtype for name in values.files} == {np.dtype(np.float32)}, {name: values[name].dtype for name in values.files}


def blown(data, out):
    values = {name: np.concatenate([value] * 21) for name, value in np.load(data).items()}
    values["x"] *= np.float32(1e-3)
    values["x"][: BAD_STEPS * BATCH] = np.inf
    np.savez(out, **values)


def still(path, least):
    rows = [json.loads(line) for line in open(path)]
    skipped = [line["grad_norm"] is None for line in rows]
    scales = [np.float32(line["loss_scale"]) for line in rows]
    assert skipped.index(False) == BAD_STEPS and not any(skipped[skipped.index(False):]), skipped
    assert min(scales) == scales[-1] == np.float32(least) and scales[0] > scales[-1], scales


globals()[sys.argv[1]](*sys.argv[2:])
