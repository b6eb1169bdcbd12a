"""What the families share: embeddings, norms, attention and the loss. Shapes: b batch, s sequence, n heads, w elements of a head."""

import numpy as np
from onnx import TensorProto

from .builder import LOWEST


def linear(g, name, x, inner, outer, bias=True):
    """x @ weight.T + bias, with the weight as [outer, inner]."""
    with g.module(name):
        y = g.op("MatMul", x, g.op("Transpose", g.weight("weight", [outer, inner]), perm=[1, 0]))
        return g.op("Add", y, g.weight("bias", [outer], "zeros")) if bias else y


def embed(g, name, ids, rows, hidden):
    """Rows of a table; returns them and the name of the table."""
    with g.module(name):
        table = g.weight("weight", [rows, hidden])
        return g.op("Gather", table, ids, axis=0), table


def layer_norm(g, name, x, hidden, epsilon=1e-5, bias=True):
    with g.module(name):
        parts = [g.weight("weight", [hidden], "ones")] + ([g.weight("bias", [hidden], "zeros")] if bias else [])
        return g.op("LayerNormalization", x, *parts, axis=-1, epsilon=epsilon)


def rms_norm(g, name, x, hidden, epsilon=1e-5):
    """x / sqrt(mean(x^2) + epsilon) * weight: no centring, no bias. The mean is taken in float32."""
    with g.module(name):
        x = g.wide(x)
        mean = g.op("ReduceMean", g.op("Pow", x, np.float32(2)), [-1], keepdims=1)
        scaled = g.op("Mul", x, g.op("Reciprocal", g.op("Sqrt", g.op("Add", mean, np.float32(epsilon)))))
        return g.op("Mul", g.weight("weight", [hidden], "ones"), g.narrow(scaled))


def silu(g, x):
    return g.op("Mul", x, g.op("Sigmoid", x))


def swiglu(g, name, x, hidden, ffn):
    """Llama's feed-forward part: down(silu(gate(x)) * up(x))."""
    with g.module(name):
        gate = silu(g, linear(g, "gate_proj", x, hidden, ffn, bias=False))
        return linear(g, "down_proj", g.op("Mul", gate, linear(g, "up_proj", x, hidden, ffn, bias=False)), ffn, hidden, bias=False)


def gelu_mlp(g, name, x, hidden, ffn):
    """A feed-forward part without gates: down(gelu(up(x)))."""
    with g.module(name):
        return linear(g, "down_proj", g.op("Gelu", linear(g, "up_proj", x, hidden, ffn, bias=False), approximate="tanh"), ffn, hidden, bias=False)


def size_of(g, x, axis, size):
    """The size of an axis as an int64 scalar: a constant where it is fixed, else asked of `x`."""
    if isinstance(size, int):
        return g.constant(size)
    return g.op("Squeeze", g.op("Shape", x, start=axis, end=axis + 1), [0])


def positions(g, x, seq, axis=1):
    """0, 1, ... along the sequence of `x`: int64 [s]."""
    return g.op("Range", 0, size_of(g, x, axis, seq), 1)


def causal_mask(g, line):
    """0 where key <= query, else the lowest number: [1, 1, s, s], computed in the graph as exporters do."""
    allowed = g.op("LessOrEqual", g.op("Unsqueeze", line, [0, 1, 2]), g.op("Unsqueeze", line, [0, 1, 3]))
    return g.op("Where", allowed, 0.0, LOWEST[g.dtype])


def padding_mask(g, attention_mask):
    """0 where `attention_mask` [b, s] is not 0, else the lowest number: [b, 1, 1, s]."""
    allowed = g.op("Unsqueeze", g.op("Cast", attention_mask, to=TensorProto.BOOL), [1, 2])
    return g.op("Where", allowed, 0.0, LOWEST[g.dtype])


def split_heads(g, x, heads, width):
    """[b, s, n * w] -> [b, n, s, w]"""
    return g.op("Transpose", g.shape(x, 0, 0, heads, width), perm=[0, 2, 1, 3])


def attend(g, q, k, v, inner, mask=None, scale=None):
    """softmax(q @ k.T * scale + mask) @ v, and the heads put together: three times [b, n, s, w] -> [b, s, inner = n * w]."""
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
    if scale is not None:
        scores = g.op("Mul", scores, float(scale))
    if mask is not None:
        scores = g.op("Add", scores, mask)
    mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
    return g.shape(g.op("Transpose", mixed, perm=[0, 2, 1, 3]), 0, 0, inner)


def cross_entropy(g, logits, labels, classes):
    """The output `loss`: mean cross entropy of logits [..., classes] over the labels that are not -100, in float32."""
    logits = g.shape(g.wide(logits), -1, classes)
    g.op("SoftmaxCrossEntropyLoss", logits, g.shape(labels, -1), name="loss", ignore_index=-100, reduction="mean")
    g.output("loss", [])
    return g


def language_head(g, x, hidden, vocab, labels, table=None, name="lm_head"):
    """Scores by `table` [vocab, hidden] (tied), or by a weight of their own, and their loss."""
    with g.module(name):
        table = table or g.weight("weight", [vocab, hidden])
        logits = g.op("MatMul", x, g.op("Transpose", table, perm=[1, 0]))
    return cross_entropy(g, logits, labels, vocab)
