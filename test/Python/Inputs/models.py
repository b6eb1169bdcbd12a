"""Checks the models of para.models with ONNX's checker and shape inference, and their first loss with ONNX Runtime."""
import math

import onnx
from small import SMALL, data, run


def weights_of(make, sizes):
    return make(**sizes).model(None).graph.initializer


for name, (make, sizes) in SMALL.items():
    graph, classes = make(**sizes), sizes.get("vocab", 10)
    model = graph.model(1)
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    feeds = data(graph, 4, classes)
    loss = float(run(model, feeds)[0])
    assert abs(loss - math.log(classes)) < 0.2, (name, loss, math.log(classes))
    # A size that is fixed changes nothing but the shapes.
    fixed = {key: value for key, value in dict(batch=4, seq=8, dec_seq=6).items() if key in make.__code__.co_varnames[:make.__code__.co_argcount]}
    fixed.update(positions=8) if name in ("gpt", "bert") else None
    symbolic = {key: value for key, value in fixed.items() if key == "positions"}
    with_names, with_numbers = (float(run(make(**{**sizes, **more}).model(1), feeds)[0]) for more in (symbolic, fixed))
    assert abs(with_names - with_numbers) < 1e-5, (name, with_names, with_numbers)
    # Two layers more are two layers more of weights; without a seed there are names and shapes only.
    small, one, large = (weights_of(make, {**sizes, "layers": layers}) for layers in (1, 2, 3))
    assert len(large) - len(one) == len(one) - len(small) > 0, name
    assert all(tensor.data_location == onnx.TensorProto.EXTERNAL and not tensor.raw_data for tensor in one), name
    # Nodes and weights have the names of their modules, and no name is there twice.
    nodes = [node.name for node in model.graph.node]
    assert len(set(nodes)) == len(nodes) and all(node.startswith("/") for node in nodes), name

# Other element types: the graph is well typed, and the loss is float32.
for dtype, elem in (("float16", onnx.TensorProto.FLOAT16), ("bfloat16", onnx.TensorProto.BFLOAT16)):
    for name, (make, sizes) in SMALL.items():
        if name in ("mlp", "cnn") or dtype == "bfloat16" and "expert" in name + "".join(sizes):
            continue
        model = make(**sizes, dtype=dtype).model(1)
        onnx.checker.check_model(model, full_check=True)
        assert {tensor.data_type for tensor in model.graph.initializer} == {elem}, (name, dtype)
        assert model.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT, (name, dtype)
