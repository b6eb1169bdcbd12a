"""training.py FOLDER [NAME]...: small models are compiled, their first loss is ONNX Runtime's, and they learn what they are shown.

The parameters of the program are the model's."""
import json
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from small import DIMS, SMALL, data, run

folder, names = sys.argv[1], sys.argv[2:] or list(SMALL)
os.makedirs(folder, exist_ok=True)
BATCH = 8
for name in names:
    make, sizes = SMALL[name]
    graph, path = make(**sizes), os.path.join(folder, name)
    onnx.save(graph.model(1), path + ".onnx")
    arrays = data(graph, 4 * BATCH, sizes.get("vocab", 10))
    np.savez(path + ".npz", **arrays)
    named = {size.dim_param for value in graph.inputs for size in value.type.tensor_type.shape.dim if size.dim_param}
    dims = ",".join(f"{key}={value}" for key, value in dict(batch=BATCH, **DIMS).items() if key in named)
    subprocess.run(["para-opt", path + ".onnx", "--train", "--dim", dims, "--optimizer=adamw:lr=0.01", "-o", path], check=True)
    subprocess.run([path, "--data", path + ".npz", "--steps", "20", "--shuffle", "none", "--threads", "1", "--metrics", path + ".jsonl",
                    "--progress=never"], check=True, stdout=subprocess.DEVNULL)
    losses = [json.loads(line)["loss"] for line in open(path + ".jsonl")]
    first = {key: array[:BATCH] for key, array in arrays.items()}
    # ONNX Runtime's BatchNormalization does not take the batch's own statistics, as training_mode tells; ONNX's evaluator does.
    want = ReferenceEvaluator(path + ".onnx").run(["loss"], first)[0] if name == "cnn" else run(path + ".onnx", first)[0]
    assert abs(losses[0] - float(want)) < 1e-4, (name, losses[0], want)
    assert sum(losses[-4:]) < 0.98 * sum(losses[:4]), (name, losses)  # the same four batches
    info = json.loads(subprocess.run([path, "--info=json"], check=True, capture_output=True, text=True).stdout)
    trained = {parameter["name"] for parameter in info["parameters"] if parameter["trainable"]}
    assert trained == {weight for weight, (_, _, trained) in graph.weights.items() if trained}, (name, trained ^ set(graph.weights))
