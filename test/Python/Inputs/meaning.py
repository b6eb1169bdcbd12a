"""What the models compute: who sees whom, where experts drop tokens, and which distance has which bias."""
import math

import numpy as np
import onnx
from para import models
from small import SMALL, data, run


def loss(model, feeds):
    return float(run(model, feeds)[0])


def moved(model, feeds, name, place):
    """By how much the loss changes with one token of the first sample."""
    other = {**feeds, name: feeds[name].copy()}
    other[name][0, place] = (other[name][0, place] + 1) % 61
    return abs(loss(model, other) - loss(model, feeds))


# In a decoder the loss of position 3 sees positions up to 3. (Experts that are full drop tokens by what others chose: here none is.)
for name, tokens in (("gpt", "input_ids"), ("llama", "input_ids"), ("llama-experts", "input_ids"), ("moe", "input_ids"), ("t5", "decoder_input_ids")):
    make, sizes = SMALL[name]
    graph = make(**sizes, **({"capacity_factor": 4} if name == "moe" else {}))
    model, feeds = graph.model(1), data(graph, 2, 61)
    feeds["labels"][:] = -100
    feeds["labels"][0, 3] = 7
    assert moved(model, feeds, tokens, 3) > 1e-6 and moved(model, feeds, tokens, 0) > 1e-6, name
    assert moved(model, feeds, tokens, 4) < 1e-6, name

# An encoder sees both sides, but no padding.
for name in ("bert", "t5"):
    make, sizes = SMALL[name]
    graph = make(**sizes)
    model, feeds = graph.model(1), data(graph, 2, 61)
    if name == "bert":
        feeds["labels"][0, -2:] = -100
    assert moved(model, feeds, "input_ids", -1) < 1e-6 < moved(model, feeds, "input_ids", -3), name

# Where no token is dropped, routed experts are the experts that see every token; two layers then drop some.
sizes = dict(layers=2, hidden=32, heads=4, vocab=61, ffn=24, experts=4, theta=1e4)
graph = models.llama(**sizes)
feeds = data(graph, 4, 61)
dense = loss(graph.model(1), feeds)
for fixed in ({}, {"seq": 8}):
    routed, bounded = (loss(models.moe(**sizes, **fixed, capacity_factor=factor).model(1), feeds) for factor in (4, 0.5))
    assert abs(routed - dense) < 1e-5 < abs(bounded - dense), (fixed, dense, routed, bounded)

# An expert takes the first ceil(top_k * factor * seq / experts) tokens which want it, first choices before second ones.
for seq, factor in ((8, 0.5), (8, 0.7), (12, 1.25)):
    graph = models.moe(layers=1, hidden=32, heads=4, vocab=61, seq=seq, ffn=24, experts=4, capacity_factor=factor)
    model = graph.model(3)
    place = next(node.output[1] for node in model.graph.node if node.op_type == "TopK")
    dispatch = next(node.output[0] for node in model.graph.node if node.op_type == "Einsum")
    model.graph.output.extend([onnx.helper.make_empty_tensor_value_info(name) for name in (place, dispatch)])
    chosen, sent = run(model, data(graph, 4, 61, seed=5), (place, dispatch))
    room = math.ceil(round(2 * factor * seq / 4, 9))
    assert sent.shape == (4, seq, 4, min(room, seq)), (sent.shape, room)
    want = np.zeros(sent.shape)
    for sample in range(4):
        used = [0] * 4
        for k in range(2):
            for token in range(seq):
                expert = chosen[sample, token, k]
                if used[expert] < room:
                    want[sample, token, expert, used[expert]] = 1
                used[expert] += 1
    assert np.array_equal(sent, want) and (factor > 1 or want.sum() < 4 * seq * 2), (seq, factor)

# T5's buckets of distances (1910.10683, and its code): exact for near ones, then by the logarithm; keys behind the query have their own.
def bucket(distance, both_sides, buckets=32, far=128):
    start = 0
    if both_sides:
        buckets //= 2
        start = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return start + distance
    return start + min(buckets - 1, exact + int(math.log(distance / exact) / math.log(far / exact) * (buckets - exact) + 1e-6))


graph = models.t5(layers=1, hidden=8, heads=2, vocab=61, seq=200, dec_seq=200, batch=1)
model = graph.model(1)
names = [node.input[1] for node in model.graph.node if node.op_type == "Gather" and "relative" in node.name]
model.graph.output.extend([onnx.helper.make_empty_tensor_value_info(name) for name in names])
for indices, both_sides in zip(run(model, data(graph, 1, 61), names), (True, False), strict=True):
    want = [[bucket(key - query, both_sides) for key in range(200)] for query in range(200)]
    assert np.array_equal(indices, want), both_sides
