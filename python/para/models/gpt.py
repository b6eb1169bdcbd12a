"""GPT-2: learned positions, LayerNorm before each part, GELU, tied head; with experts in place of the feed-forward part."""

from . import blocks, sizes
from .experts import capacity, capacity_mixture
from .experts import check as check_experts
from .experts import settle as settle_experts
from .builder import Graph


def gpt(layers=2, hidden=64, heads=4, ffn=None, vocab=128, seq="seq", positions=None, gelu="tanh", tied=True, experts=0, top_k=None, capacity_factor=None,
        groups=None, dtype="float32", batch="batch"):
    """A GPT-2 with a language-model loss: input_ids, labels [batch, seq] -> loss."""
    sizes.check(dict(batch=batch, seq=seq), layers=layers, hidden=hidden, heads=heads, ffn=ffn, vocab=vocab, positions=positions)
    ffn, width, rows = ffn or 4 * hidden, sizes.head_width(hidden, heads), sizes.default_positions(seq, positions, 1024)
    top_k, capacity_factor, groups = settle_experts(experts, top_k=top_k, capacity_factor=capacity_factor, groups=groups)
    if experts != 0:
        check_experts(experts, top_k, dtype, seq, capacity_factor, groups)
    g = Graph("gpt", dtype=dtype)
    ids, labels = g.input("input_ids", [batch, seq]), g.input("labels", [batch, seq])
    places = capacity(g, ids, seq, experts, top_k, capacity_factor, groups) if experts else None

    def conv1d(name, x, inner, outer):
        """GPT-2's own linear layer: the weight is [inner, outer]."""
        with g.module(name):
            return g.op("Add", g.op("MatMul", x, g.weight("weight", [inner, outer])), g.weight("bias", [outer], "zeros"))

    def attention(x):
        with g.module("attn"):
            parts = g.op("Split", conv1d("c_attn", x, hidden, 3 * hidden), [hidden] * 3, outputs=3, axis=-1)
            q, k, v = (blocks.split_heads(g, part, heads, width) for part in parts)
            return conv1d("c_proj", blocks.attend(g, q, k, v, hidden, mask, width**-0.5), hidden, hidden)

    def feed_forward(x):
        with g.module("mlp"):
            if experts:
                return capacity_mixture(g, x, hidden, ffn, experts, top_k, places, gated=False, seq=seq, groups=groups, gelu=gelu)
            y = conv1d("c_fc", x, hidden, ffn)
            return conv1d("c_proj", g.op("Gelu", y, approximate="tanh" if gelu == "tanh" else "none"), ffn, hidden)

    with g.module("transformer"):
        x, table = blocks.embed(g, "wte", ids, vocab, hidden)
        line = blocks.positions(g, ids, seq)
        x = g.op("Add", x, blocks.embed(g, "wpe", line, rows, hidden)[0])
        mask = blocks.causal_mask(g, line)
        for i in range(layers):
            with g.module(f"h.{i}"):
                x = g.op("Add", x, attention(blocks.layer_norm(g, "ln_1", x, hidden)))
                x = g.op("Add", x, feed_forward(blocks.layer_norm(g, "ln_2", x, hidden)))
        x = blocks.layer_norm(g, "ln_f", x, hidden)
    return blocks.language_head(g, x, hidden, vocab, labels, table if tied else None)
