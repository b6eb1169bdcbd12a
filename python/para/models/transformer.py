"""Decoders: GPT (learned positions, LayerNorm, GELU, tied head) and Llama (rotary, RMSNorm, SwiGLU, grouped queries, experts)."""

import math

import numpy as np
from onnx import TensorProto

from .builder import Graph


def _begin(name, batch, seq):
    g = Graph(name)
    ids = g.input("input_ids", [batch, seq], TensorProto.INT64)
    labels = g.input("labels", [batch, seq], TensorProto.INT64)
    return g, ids, labels


def _finish(g, x, hidden, vocab, head, labels):
    """Mean cross entropy over the labels that are not -100."""
    logits = g.op("MatMul", x, g.op("Transpose", head, perm=[1, 0]))
    g.scope = ""
    g.op("SoftmaxCrossEntropyLoss", g.shape(logits, -1, vocab), g.shape(labels, -1), name="loss", ignore_index=-100, reduction="mean")
    g.output("loss", [])
    return g


def _causal_mask(g, seq):
    """0 where key <= query, else the lowest float: [1, 1, seq, seq], computed in the graph as exporters do."""
    line = g.op("Range", np.int64(0), np.int64(seq), np.int64(1))
    allowed = g.op("LessOrEqual", g.shape(line, 1, 1, 1, seq), g.shape(line, 1, 1, seq, 1))
    return g.op("Where", allowed, np.float32(0), np.finfo(np.float32).min)


def _attend(g, q, k, v, mask, width):
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = g.op("Add", g.op("Mul", scores, np.float32(1 / math.sqrt(width))), mask)
    return g.op("MatMul", g.op("Softmax", scores, axis=-1), v)


def gpt(layers=2, hidden=64, heads=4, vocab=128, seq=32, ffn=None, batch="batch"):
    """A GPT-2 with a language-model loss: input_ids, labels [batch, seq] -> loss."""
    ffn, width = ffn or 4 * hidden, hidden // heads
    g, ids, labels = _begin("gpt", batch, seq)
    table = g.weight("wte.weight", [vocab, hidden])
    positions = g.op("Gather", g.weight("wpe.weight", [seq, hidden]), g.op("Range", np.int64(0), np.int64(seq), np.int64(1)), axis=0)
    x = g.op("Add", g.op("Gather", table, ids, axis=0), positions)
    mask = _causal_mask(g, seq)

    def norm(x, name):
        return g.op("LayerNormalization", x, g.weight(f"{name}.weight", [hidden], "ones"), g.weight(f"{name}.bias", [hidden], "zeros"),
                    axis=-1, epsilon=1e-5)

    for i in range(layers):
        block = f"h.{i}"
        g.scope = block + "."
        qkv = g.linear(norm(x, f"{block}.ln_1"), f"{block}.attn.qkv", hidden, 3 * hidden)
        parts = g.op("Split", qkv, np.array([hidden] * 3, np.int64), outputs=3, axis=-1)
        q, k, v = (g.op("Transpose", g.shape(part, 0, 0, heads, width), perm=[0, 2, 1, 3]) for part in parts)
        y = g.op("Transpose", _attend(g, q, k, v, mask, width), perm=[0, 2, 1, 3])
        x = g.op("Add", x, g.linear(g.shape(y, 0, 0, hidden), f"{block}.attn.proj", hidden, hidden))
        y = g.op("Gelu", g.linear(norm(x, f"{block}.ln_2"), f"{block}.mlp.up", hidden, ffn), approximate="tanh")
        x = g.op("Add", x, g.linear(y, f"{block}.mlp.down", ffn, hidden))
    return _finish(g, norm(x, "ln_f"), hidden, vocab, table, labels)


def llama(layers=2, hidden=64, heads=4, kv_heads=None, ffn=None, vocab=128, seq=32, experts=0, top_k=2, theta=10000.0, batch="batch"):
    """A Llama; with `experts` a Mixtral whose experts see every token and are weighted by the router."""
    kv_heads, width = kv_heads or heads, hidden // heads
    ffn = ffn or 256 * math.ceil(8 * hidden / 3 / 256)
    g, ids, labels = _begin("llama", batch, seq)
    x = g.op("Gather", g.weight("embed_tokens.weight", [vocab, hidden]), ids, axis=0)
    mask = _causal_mask(g, seq)
    frequencies = (theta ** -(np.arange(0, width, 2) / width)).astype(np.float32)
    line = g.op("Cast", g.op("Range", np.int64(0), np.int64(seq), np.int64(1)), to=TensorProto.FLOAT)
    angles = g.op("Mul", g.shape(line, seq, 1), frequencies[None, :])
    angles = g.op("Concat", angles, angles, axis=-1)
    cos, sin = g.op("Cos", angles), g.op("Sin", angles)

    def norm(x, name):
        mean = g.op("ReduceMean", g.op("Pow", x, np.float32(2)), np.array([-1], np.int64), keepdims=1)
        scaled = g.op("Mul", x, g.op("Reciprocal", g.op("Sqrt", g.op("Add", mean, np.float32(1e-5)))))
        return g.op("Mul", g.weight(f"{name}.weight", [hidden], "ones"), scaled)

    def rotate(x):
        low, high = g.op("Split", x, np.array([width // 2] * 2, np.int64), outputs=2, axis=-1)
        turned = g.op("Concat", g.op("Neg", high), low, axis=-1)
        return g.op("Add", g.op("Mul", x, cos), g.op("Mul", turned, sin))

    def split_heads(x, count):
        return g.op("Transpose", g.shape(x, 0, 0, count, width), perm=[0, 2, 1, 3])

    def repeat(x):
        if kv_heads == heads:
            return x
        shared = heads // kv_heads
        spread = g.op("Expand", g.op("Unsqueeze", x, np.array([2], np.int64)), np.array([1, 1, shared, 1, 1], np.int64))
        return g.shape(spread, 0, heads, seq, width)

    def feed_forward(x, name):
        gate = g.linear(x, f"{name}.gate_proj", hidden, ffn, bias=False)
        up = g.linear(x, f"{name}.up_proj", hidden, ffn, bias=False)
        return g.linear(g.op("Mul", g.op("Mul", gate, g.op("Sigmoid", gate)), up), f"{name}.down_proj", ffn, hidden, bias=False)

    def mixture(x, name):
        scores = g.op("Softmax", g.linear(x, f"{name}.router", hidden, experts, bias=False), axis=-1)
        best, place = g.op("TopK", scores, np.array([top_k], np.int64), outputs=2, axis=-1)
        best = g.op("Div", best, g.op("ReduceSum", best, np.array([-1], np.int64), keepdims=1))
        chosen = g.op("OneHot", place, np.int64(experts), np.array([0, 1], np.float32), axis=-1)  # [batch, seq, top_k, experts]
        gates = g.op("Einsum", best, chosen, equation="bsk,bske->bse")
        gate = g.op("Einsum", x, g.weight(f"{name}.experts.gate", [experts, ffn, hidden]), equation="bsh,efh->bsef")
        up = g.op("Einsum", x, g.weight(f"{name}.experts.up", [experts, ffn, hidden]), equation="bsh,efh->bsef")
        inner = g.op("Mul", g.op("Mul", gate, g.op("Sigmoid", gate)), up)
        outer = g.op("Einsum", inner, g.weight(f"{name}.experts.down", [experts, hidden, ffn]), equation="bsef,ehf->bseh")
        return g.op("Einsum", outer, gates, equation="bseh,bse->bsh")

    for i in range(layers):
        block = f"layers.{i}"
        g.scope = block + "."
        y = norm(x, f"{block}.input_layernorm")
        q = rotate(split_heads(g.linear(y, f"{block}.self_attn.q_proj", hidden, heads * width, bias=False), heads))
        k = rotate(split_heads(g.linear(y, f"{block}.self_attn.k_proj", hidden, kv_heads * width, bias=False), kv_heads))
        v = split_heads(g.linear(y, f"{block}.self_attn.v_proj", hidden, kv_heads * width, bias=False), kv_heads)
        y = g.op("Transpose", _attend(g, q, repeat(k), repeat(v), mask, width), perm=[0, 2, 1, 3])
        x = g.op("Add", x, g.linear(g.shape(y, 0, 0, hidden), f"{block}.self_attn.o_proj", hidden, hidden, bias=False))
        y = norm(x, f"{block}.post_attention_layernorm")
        x = g.op("Add", x, mixture(y, f"{block}.moe") if experts else feed_forward(y, f"{block}.mlp"))
    return _finish(g, norm(x, "norm"), hidden, vocab, g.weight("lm_head.weight", [vocab, hidden]), labels)
