"""Llama and mixtures of experts: rotary positions, RMSNorm, SwiGLU, grouped queries."""

import math

import numpy as np
from onnx import TensorProto

from . import blocks, sizes
from .builder import Graph
from .experts import capacity, capacity_mixture, dense_mixture
from .experts import check as check_experts
from .experts import settle as settle_experts


def _check(batch, seq, hidden, heads, kv_heads, head_dim, ffn, theta, **others):
    sizes.check(dict(batch=batch, seq=seq), hidden=hidden, heads=heads, kv_heads=kv_heads, head_dim=head_dim, ffn=ffn, **others)
    sizes.within("theta", theta, 1, 1e12)
    if sizes.head_width(hidden, heads, head_dim) % 2:
        raise sizes.SizeError(f"rotary positions turn pairs of elements, and a head has {sizes.head_width(hidden, heads, head_dim)}")
    sizes.divides("kv_heads", "heads", kv_heads=kv_heads or heads, heads=heads)


def _decoder(name, prepare, layers, hidden, heads, kv_heads, head_dim, vocab, seq, theta, tied, dtype, batch):
    """The decoder whose feed-forward part, a module "mlp", is written by what prepare(g, ids) gives: a function of its input."""
    kv_heads, width = kv_heads or heads, sizes.head_width(hidden, heads, head_dim)
    g = Graph(name, dtype=dtype)
    ids, labels = g.input("input_ids", [batch, seq]), g.input("labels", [batch, seq])
    feed_forward = prepare(g, ids)

    def rotary(line):
        """Cosines and sines [s, w], in float32 and then as the graph's type."""
        with g.module("rotary_emb"):
            frequencies = (theta ** -(np.arange(0, width, 2) / width)).astype(np.float32)
            angles = g.op("Mul", g.op("Unsqueeze", g.op("Cast", line, to=TensorProto.FLOAT), [1]), frequencies[None, :])
            angles = g.op("Concat", angles, angles, axis=-1)
            return g.narrow(g.op("Cos", angles)), g.narrow(g.op("Sin", angles))

    def rotate(x):
        low, high = g.op("Split", x, [width // 2] * 2, outputs=2, axis=-1)
        turned = g.op("Concat", g.op("Neg", high), low, axis=-1)
        return g.op("Add", g.op("Mul", x, cos), g.op("Mul", turned, sin))

    def repeat(x):
        """[b, kv_heads, s, w] -> [b, heads, s, w]"""
        if kv_heads == heads:
            return x
        spread = g.op("Expand", g.op("Unsqueeze", x, [2]), [1, 1, heads // kv_heads, 1, 1])
        return g.shape(spread, 0, heads, seq if isinstance(seq, int) else -1, width)

    def attention(x):
        with g.module("self_attn"):
            q, k, v = (blocks.split_heads(g, blocks.linear(g, part, x, hidden, count * width, bias=False), count, width)
                       for part, count in (("q_proj", heads), ("k_proj", kv_heads), ("v_proj", kv_heads)))
            y = blocks.attend(g, rotate(q), repeat(rotate(k)), repeat(v), heads * width, mask, width**-0.5)
            return blocks.linear(g, "o_proj", y, heads * width, hidden, bias=False)

    with g.module("model"):
        x, table = blocks.embed(g, "embed_tokens", ids, vocab, hidden)
        line = blocks.positions(g, ids, seq)
        mask = blocks.causal_mask(g, line)
        cos, sin = rotary(line)
        for i in range(layers):
            with g.module(f"layers.{i}"):
                x = g.op("Add", x, attention(blocks.rms_norm(g, "input_layernorm", x, hidden)))
                x = g.op("Add", x, feed_forward(blocks.rms_norm(g, "post_attention_layernorm", x, hidden)))
        x = blocks.rms_norm(g, "norm", x, hidden)
    return blocks.language_head(g, x, hidden, vocab, labels, table if tied else None)


def llama(layers=2, hidden=64, heads=4, kv_heads=None, head_dim=None, ffn=None, vocab=128, seq="seq", experts=0, top_k=None, theta=10000.0,
          tied=False, dtype="float32", batch="batch"):
    """A Llama with a language-model loss; with experts, all of them see every token and the router weighs them."""
    _check(batch, seq, hidden, heads, kv_heads, head_dim, ffn, theta, layers=layers, vocab=vocab)
    ffn = ffn or 256 * math.ceil(8 * hidden / 3 / 256)
    top_k, = settle_experts(experts, top_k=top_k)
    if experts != 0:
        check_experts(experts, top_k, dtype)

    def prepare(g, ids):
        def feed_forward(x):
            if not experts:
                return blocks.swiglu(g, "mlp", x, hidden, ffn)
            with g.module("mlp"):
                return dense_mixture(g, x, hidden, ffn, experts, top_k)
        return feed_forward

    return _decoder("llama", prepare, layers, hidden, heads, kv_heads, head_dim, vocab, seq, theta, tied, dtype, batch)


def moe(layers=2, hidden=64, heads=4, kv_heads=None, head_dim=None, ffn=None, vocab=128, seq="seq", experts=8, top_k=2, capacity_factor=1.25,
        shared_experts=0, gated=True, groups=1, theta=1e6, tied=False, dtype="float32", batch="batch"):
    """A Mixtral with a language-model loss: the router sends each token to top_k experts of bounded capacity."""
    _check(batch, seq, hidden, heads, kv_heads, head_dim, ffn, theta, layers=layers, vocab=vocab, **({"shared_experts": shared_experts} if shared_experts else {}))
    check_experts(experts, top_k, dtype, seq, capacity_factor, groups)
    ffn = ffn or (256 * math.ceil(8 * hidden / 3 / 256) if gated else 4 * hidden)

    def prepare(g, ids):
        places = capacity(g, ids, seq, experts, top_k, capacity_factor, groups)

        def feed_forward(x):
            with g.module("mlp"):
                y = capacity_mixture(g, x, hidden, ffn, experts, top_k, places, gated, seq, groups)
                shared = blocks.swiglu if gated else blocks.gelu_mlp
                return g.op("Add", y, shared(g, "shared_experts", x, hidden, shared_experts * ffn)) if shared_experts else y
        return feed_forward

    return _decoder("moe", prepare, layers, hidden, heads, kv_heads, head_dim, vocab, seq, theta, tied, dtype, batch)
