"""T5: an encoder and a decoder with relative position biases and RMSNorm."""

import math

import numpy as np
from onnx import TensorProto

from . import blocks, sizes
from .builder import Graph


def t5(layers=2, decoder_layers=None, hidden=64, heads=4, head_dim=None, ffn=None, vocab=128, seq="seq", dec_seq="dec_seq", buckets=32,
       max_distance=128, activation="relu", tied=True, dtype="float32", batch="batch"):
    """A T5: input_ids, attention_mask [batch, seq], decoder_input_ids, labels [batch, dec_seq] -> loss."""
    decoder_layers = layers if decoder_layers is None else decoder_layers
    sizes.check(dict(batch=batch, seq=seq, dec_seq=dec_seq), layers=layers, decoder_layers=decoder_layers, hidden=hidden, heads=heads,
                head_dim=head_dim, ffn=ffn, vocab=vocab, buckets=buckets, max_distance=max_distance)
    if buckets % 4 or max_distance <= buckets // 2:
        raise sizes.SizeError(f"--buckets {buckets}: not a multiple of 4, or not less than twice --max-distance {max_distance}")
    ffn, width = ffn or 4 * hidden, sizes.head_width(hidden, heads, head_dim)
    inner = heads * width
    g = Graph("t5", dtype=dtype)
    ids, attention_mask = g.input("input_ids", [batch, seq]), g.input("attention_mask", [batch, seq])
    decoder_ids, labels = g.input("decoder_input_ids", [batch, dec_seq]), g.input("labels", [batch, dec_seq])

    def norm(name, x):
        return blocks.rms_norm(g, name, x, hidden, 1e-6)

    def position_bias(line, both_sides):
        """A number for each head and distance, the far ones in buckets that grow with the logarithm: [1, n, s, s]."""
        distance = g.op("Sub", g.op("Unsqueeze", line, [0]), g.op("Unsqueeze", line, [1]))  # key - query
        count = buckets // 2 if both_sides else buckets
        far = g.op("Abs", distance) if both_sides else g.op("Neg", g.op("Min", distance, 0))
        exact = count // 2
        ratio = g.op("Div", g.op("Cast", g.op("Max", far, 1), to=TensorProto.FLOAT), np.float32(exact))
        steps = g.op("Mul", g.op("Div", g.op("Log", ratio), np.float32(math.log(max_distance / exact))), np.float32(count - exact))
        large = g.op("Min", g.op("Add", g.op("Cast", steps, to=TensorProto.INT64), exact), count - 1)
        bucket = g.op("Where", g.op("Less", far, exact), far, large)
        if both_sides:
            later = g.op("Mul", g.op("Cast", g.op("Greater", distance, 0), to=TensorProto.INT64), count)
            bucket = g.op("Add", bucket, later)
        values, _ = blocks.embed(g, "relative_attention_bias", bucket, buckets, heads)
        return g.op("Unsqueeze", g.op("Transpose", values, perm=[2, 0, 1]), [0])

    def attention(name, x, memory, bias):
        """Without a scale, which T5 leaves to the weights. `bias` is added to the scores, or makes what is added."""
        with g.module(name):
            q, k, v = (blocks.split_heads(g, blocks.linear(g, part, source, hidden, inner, bias=False), heads, width)
                       for part, source in (("q", x), ("k", memory), ("v", memory)))
            bias = bias() if callable(bias) else bias
            return blocks.linear(g, "o", blocks.attend(g, q, k, v, inner, bias), inner, hidden, bias=False), bias

    def feed_forward(x):
        with g.module("DenseReluDense"):
            if activation == "relu":
                y = g.op("Relu", blocks.linear(g, "wi", x, hidden, ffn, bias=False))
            else:
                gate = g.op("Gelu", blocks.linear(g, "wi_0", x, hidden, ffn, bias=False), approximate="tanh")
                y = g.op("Mul", gate, blocks.linear(g, "wi_1", x, hidden, ffn, bias=False))
            return blocks.linear(g, "wo", y, ffn, hidden, bias=False)

    def stack(name, x, line, count, mask, memory=None, memory_mask=None):
        bias = lambda: g.op("Add", position_bias(line, both_sides=memory is None), mask)
        with g.module(name):
            for i in range(count):
                with g.module(f"block.{i}"):
                    with g.module("layer.0"):
                        y, bias = attention("SelfAttention", *[norm("layer_norm", x)] * 2, bias)
                        x = g.op("Add", x, y)
                    if memory is not None:
                        with g.module("layer.1"):
                            x = g.op("Add", x, attention("EncDecAttention", norm("layer_norm", x), memory, memory_mask)[0])
                    with g.module("layer.1" if memory is None else "layer.2"):
                        x = g.op("Add", x, feed_forward(norm("layer_norm", x)))
            return norm("final_layer_norm", x)

    x, table = blocks.embed(g, "shared", ids, vocab, hidden)
    with g.module("shared"):
        y = g.op("Gather", table, decoder_ids, axis=0)
    padding = blocks.padding_mask(g, attention_mask)
    memory = stack("encoder", x, blocks.positions(g, ids, seq), layers, padding)
    line = blocks.positions(g, decoder_ids, dec_seq)
    y = stack("decoder", y, line, decoder_layers, blocks.causal_mask(g, line), memory, padding)
    if tied:
        y = g.op("Mul", y, hidden**-0.5)
    return blocks.language_head(g, y, hidden, vocab, labels, table if tied else None)
