#!/usr/bin/env python3
"""What microbatches mean where a loss is no plain sum over the batch.

    test/Execution/microbatches.py [--models balance,rmse]

Each model is small and made here. With M microbatches its loss and gradient must be, to 1e-11,
  whole   those of the whole batch: all that spans the batch is a sum, or is made of data alone
  mean    the mean of the microbatches' own, weighted by their rows: statistics over the batch go into it
The own ones are what the same model gives when compiled for a batch of that many rows. Sharded programs must give the same as serial ones.
Where the reference models are (../shared/training), their microbatch gradients, weighted by valid labels, are compared too: to 1e-8 of the norm.
Exit status 1 if anything is above.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

import harness

BOUND = 1e-11
WIDTH, HIDDEN, CLASSES = 6, 8, 5
rng = np.random.default_rng(5)


class Model:
    """A perceptron with an own ending."""

    def __init__(self):
        self.nodes, self.initializers, self.count = [], [], 0
        hidden = self.op("Tanh", self.op("MatMul", "x", self.parameter("w1", (WIDTH, HIDDEN))))
        self.hidden, self.scores = hidden, self.op("MatMul", hidden, self.parameter("w2", (HIDDEN, CLASSES)))

    def op(self, kind, *inputs, **attributes):
        self.count += 1
        name = f"{kind.lower()}_{self.count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def parameter(self, name, shape):
        return self.tensor(name, rng.normal(0, 0.5, shape).astype(np.float32))

    def tensor(self, name, value):
        self.initializers.append(onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def number(self, value):
        self.count += 1
        return self.op("Constant", value=onnx.numpy_helper.from_array(np.float32(value)))

    def axes(self, *values):
        self.count += 1
        return self.tensor(f"axes_{self.count}", np.array(values, np.int64))

    def mean(self, value, *axes, keep=0):
        return self.op("ReduceMean", value, *([self.axes(*axes)] if axes else []), keepdims=keep)

    def square_error(self):
        difference = self.op("Sub", self.scores, "y")
        return self.mean(self.op("Mul", difference, difference))

    def cross_entropy(self, *weights):
        return self.op("SoftmaxCrossEntropyLoss", self.scores, "labels", *weights, reduction="mean")

    def masked(self):
        return self.op("SoftmaxCrossEntropyLoss", self.scores, "labels", reduction="mean", ignore_index=2)

    def save(self, path, loss):
        self.nodes.append(helper.make_node("Identity", [loss], ["loss"], name="loss"))
        used = {name for node in self.nodes for name in node.input}
        inputs = [info for info in (helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", WIDTH]),
                                    helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", CLASSES]),
                                    helper.make_tensor_value_info("labels", TensorProto.INT64, ["batch"])) if info.name in used]
        graph = helper.make_graph(self.nodes, "model", inputs, [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], self.initializers)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
        return [info.name for info in inputs]


def penalty(m):
    weights = m.op("ReduceSum", m.op("Mul", "w1", "w1"), keepdims=0)
    return m.op("Add", m.square_error(), m.op("Mul", weights, m.number(0.01)))


def class_weights(m):
    return m.cross_entropy(m.tensor("classes", np.linspace(0.5, 2, CLASSES).astype(np.float32)))


def balance(m):
    probability = m.op("Softmax", m.op("MatMul", m.hidden, m.parameter("gate", (HIDDEN, 3))), axis=-1)
    chosen = m.op("Cast", m.op("Greater", probability, m.number(0.35)), to=TensorProto.FLOAT)
    both = m.op("Mul", m.mean(probability, 0), m.mean(chosen, 0))
    return m.op("Add", m.cross_entropy(), m.op("Mul", m.op("ReduceSum", both, keepdims=0), m.number(0.1)))


def centered(m):
    m.scores = m.op("Sub", m.scores, m.mean(m.scores, 0, keep=1))
    return m.square_error()


def rmse(m):
    return m.op("Sqrt", m.square_error())


def product(m):
    return m.op("Mul", m.square_error(), m.cross_entropy())


def spread(m):  # the batch's own variance is kept near one
    centre = m.op("Sub", m.hidden, m.mean(m.hidden, 0, keep=1))
    lack = m.op("Sub", m.mean(m.op("Mul", centre, centre), 0), m.number(1.0))
    return m.op("Sub", m.cross_entropy(), m.op("Neg", m.mean(m.op("Mul", lack, lack))))


def scaled_by_data(m):
    return m.op("Mul", m.cross_entropy(), m.mean("y"))


def scaled_masked(m):
    return m.op("Mul", m.masked(), m.op("Abs", m.mean("y")))


def root_before_count(m):
    return m.op("Add", m.op("Sqrt", m.square_error()), m.cross_entropy())


def centered_data(m):
    m.scores = m.op("MatMul", m.op("MatMul", m.op("Sub", "x", m.mean("x", 0, keep=1)), "w1"), "w2")
    return m.square_error()


def row_weights(m):  # each row's share of all rows' weight, from data
    weight = m.op("Abs", m.mean("y", 1))
    share = m.op("Div", weight, m.op("ReduceSum", weight, keepdims=0))
    difference = m.op("Sub", m.scores, "y")
    return m.op("ReduceSum", m.op("Mul", m.mean(m.op("Mul", difference, difference), 1), share), keepdims=0)


def hidden_norm(m):  # its squares are those of tanh's derivative: the first stage's backward pass takes them from the last stage
    return m.op("Add", m.cross_entropy(), m.op("Mul", m.op("ReduceL2", m.hidden, keepdims=0), m.number(0.1)))


def used_twice(m):
    total = m.op("Add", m.op("Sqrt", m.square_error()), m.cross_entropy())
    return m.op("Add", total, m.op("Mul", total, m.number(0.1)))


def norm(m):
    channels = [m.parameter("scale", (HIDDEN,)), m.parameter("bias", (HIDDEN,))]
    running = [m.tensor("mean", np.zeros(HIDDEN, np.float32)), m.tensor("variance", np.ones(HIDDEN, np.float32))]
    m.count += 1
    outputs = [f"norm_{m.count}", "mean_out", "variance_out"]
    m.nodes.append(helper.make_node("BatchNormalization", [m.hidden, *channels, *running], outputs, name=outputs[0], training_mode=1))
    m.scores = m.op("MatMul", outputs[0], "w2")
    return m.cross_entropy()


#: name -> (ending, meaning, flags)
MODELS = {
    "penalty": (penalty, "whole", []),
    "class weights": (class_weights, "whole", ["--freeze", "classes"]),
    "trained class weights": (class_weights, "mean", []),
    "balance": (balance, "mean", []),
    "centered": (centered, "mean", []),
    "rmse": (rmse, "mean", []),
    "product": (product, "mean", []),
    "spread": (spread, "mean", []),
    "norm": (norm, "mean", []),
    "scaled by data": (scaled_by_data, "whole", []),
    "scaled masked": (scaled_masked, "whole", []),
    "root before count": (root_before_count, "mean", []),
    "centered data": (centered_data, "whole", []),
    "row weights": (row_weights, "whole", []),
    "used twice": (used_twice, "mean", []),
    "hidden norm": (hidden_norm, "mean", []),
}
PLANS = [[], ["--ranks", "2", "--plan=ddp"], ["--ranks", "4", "--plan=zero2"], ["--ranks", "3", "--plan=zero3"], ["--ranks", "2", "--plan=tensor"],
         ["--ranks", "2", "--plan=pipeline"], ["--mesh", "data=2,pipeline=2", "--pipeline-schedule=gpipe"]]


def train(path, names, data, rows, flags):
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        np.savez(file.name, **{name: data[name] for name in names})
        run = harness.train(path, ["--precision=f64", "--optimizer=sgd:lr=0.1", "--dim", f"batch={rows}", *flags], steps=1, data=file.name)
        return run.metrics[0]["loss"], run.gradients


def check(name, folder, batch, microbatches):
    """Largest error of each plan over the largest element."""
    ending, meaning, flags = MODELS[name]
    model = Model()
    names = model.save(folder / "model.onnx", ending(model))
    data = {"x": rng.normal(size=(batch, WIDTH)).astype(np.float32), "y": rng.normal(size=(batch, CLASSES)).astype(np.float32),
            "labels": rng.integers(0, CLASSES, batch)}
    piece = batch if meaning == "whole" else -(-batch // microbatches)
    loss, gradients = 0.0, {}
    for first in range(0, batch, piece):
        rows = {key: value[first:first + piece] for key, value in data.items()}
        share = len(rows["x"]) / batch
        own, own_gradients = train(folder / "model.onnx", names, rows, len(rows["x"]), flags)
        loss += share * own
        for key, value in own_gradients.items():
            gradients[key] = gradients.get(key, 0) + share * value
    for plan in PLANS:
        found, found_gradients = train(folder / "model.onnx", names, data, batch, [*flags, "--microbatches", str(microbatches), *plan])
        errors = [harness.ratio(abs(found - loss), abs(loss))]
        errors += [harness.ratio(np.abs(found_gradients[key] - value), np.max(np.abs(value))) for key, value in gradients.items()]
        yield " ".join(plan) or "serial", max(errors) if set(found_gradients) == set(gradients) else float("inf")


def compare_references(names):
    """Each reference's microbatch gradients against PyTorch's: largest error over the norm, in lines."""
    for name in names:
        folder = harness.SHARED / "training" / name
        reference = np.load(folder / "train_ref.npz")
        norm = float(reference["grad_global_norm"])
        find = harness.ParameterNames(json.loads((folder / "train_ref.json").read_text()))
        for tag in sorted({key.split("/")[1] for key in reference.files if key.startswith("micro/")}):
            sizes = [int(size) for size in tag.split("+")]
            if max(sizes) != -(-sum(sizes) // len(sizes)) or any(size != sizes[0] for size in sizes[:-1]):
                continue  # ours are equal but for the last
            for plan in ([], ["--ranks", "2", "--plan=ddp"], ["--ranks", "2", "--plan=pipeline"]):
                flags = ["--precision=f64", "--optimizer=sgd:lr=0.1", "--microbatches", str(len(sizes)), *harness.freeze_flags(folder), *plan]
                run = harness.train(folder / "model.onnx", flags, steps=1)
                keys = [key for key in reference.files if key.startswith(f"micro/{tag}/weighted/")]
                error = max(harness.ratio(np.abs(find(run.gradients, key.split("/weighted/")[1]) - reference[key]), norm) for key in keys)
                yield f"{name} {tag} {' '.join(plan) or 'serial'}", error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--references", default="llama_gqa,gpt2_hf,bert_mlm,resnet_bn,mixtral_moe,lstm_lm")
    arguments = parser.parse_args()
    passed = failures = 0
    for name in filter(None, arguments.models.split(",")):
        for batch, microbatches in ((8, 2), (8, 4), (7, 3)):
            with tempfile.TemporaryDirectory(prefix="para-") as folder:
                try:
                    errors = dict(check(name, pathlib.Path(folder), batch, microbatches))
                except harness.Failed as error:
                    print(f"  {name:<22} batch {batch} in {microbatches}: FAILED: {error}", flush=True)
                    failures += 1
                    continue
            worst = max(errors, key=errors.get)
            good = errors[worst] <= BOUND
            passed, failures = passed + good, failures + (not good)
            print(f"  {name:<22} batch {batch} in {microbatches}: {MODELS[name][1]:<5} {errors[worst]:8.1e} over {len(errors)} plans "
                  f"{'ok' if good else 'ABOVE ' + str(BOUND) + ' (' + worst + ')'}", flush=True)
    references = [name for name in arguments.references.split(",") if name]
    if references and not harness.SHARED.is_dir():
        print(f"  SKIPPED: no reference models at {harness.SHARED} (set PARA_SHARED)")
        references = []
    for label, error in compare_references(references):
        passed, failures = passed + (error <= 1e-8), failures + (not error <= 1e-8)
        print(f"  {label:<52} {error:8.1e} {'ok' if error <= 1e-8 else 'ABOVE 1e-8'}", flush=True)
    print(f"{passed} passed, {failures} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
