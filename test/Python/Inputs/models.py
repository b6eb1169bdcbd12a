"""Checks the models of para.models with ONNX's checker, and their first loss with ONNX Runtime."""
import math
import os
import tempfile

import numpy as np
import onnx
import onnxruntime
from para import models

random = np.random.default_rng(0)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.onnx")
    for make, classes, sizes in ((models.gpt, 61, dict(layers=2, hidden=32, heads=4, vocab=61, seq=8)),
                                 (models.llama, 61, dict(layers=2, hidden=32, heads=4, vocab=61, seq=8)),
                                 (models.mlp, 10, dict(layers=2, hidden=16, inputs=4, classes=10))):
        models.save(make(**sizes), path, weights=1)
        onnx.checker.check_model(path, full_check=True)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        feeds = {}
        for value in session.get_inputs():
            shape = [4 if isinstance(size, str) else size for size in value.shape]
            feeds[value.name] = (random.integers(0, classes, shape) if "int" in value.type else random.standard_normal(shape).astype(np.float32))
        loss = float(session.run(["loss"], feeds)[0])
        assert abs(loss - math.log(classes)) < 0.2, (make.__name__, loss, math.log(classes))
        # Two layers more are two layers more of weights; without a seed there are names and shapes only.
        small, large = (make(**{**sizes, "layers": layers}).model(None).graph for layers in (1, 3))
        one = make(**{**sizes, "layers": 2}).model(None).graph
        assert len(large.initializer) - len(one.initializer) == len(one.initializer) - len(small.initializer) > 0
        assert all(tensor.data_location == onnx.TensorProto.EXTERNAL and not tensor.raw_data for tensor in one.initializer)
