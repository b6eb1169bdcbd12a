"""BERT: an encoder with learned positions and token types, LayerNorm behind each part, and a masked language-model head."""

from . import blocks, sizes
from .builder import Graph


def bert(layers=2, hidden=64, heads=4, ffn=None, vocab=128, seq="seq", positions=None, token_types=2, gelu="erf", tied=True, dtype="float32",
         batch="batch"):
    """A BERT with a masked-LM loss: input_ids, attention_mask, token_type_ids, labels [batch, seq]; label -100 is no loss."""
    sizes.check(dict(batch=batch, seq=seq), layers=layers, hidden=hidden, heads=heads, ffn=ffn, vocab=vocab, positions=positions,
                token_types=token_types)
    ffn, width, rows = ffn or 4 * hidden, sizes.head_width(hidden, heads), sizes.default_positions(seq, positions, 512)
    g = Graph("bert", dtype=dtype)
    ids, attention_mask, types, labels = (g.input(name, [batch, seq]) for name in ("input_ids", "attention_mask", "token_type_ids", "labels"))

    def activate(x):
        return g.op("Gelu", x, approximate="tanh" if gelu == "tanh" else "none")

    def norm(x):
        return blocks.layer_norm(g, "LayerNorm", x, hidden, 1e-12)

    def attention(x):
        with g.module("attention"):
            with g.module("self"):
                q, k, v = (blocks.split_heads(g, blocks.linear(g, part, x, hidden, hidden), heads, width) for part in ("query", "key", "value"))
                y = blocks.attend(g, q, k, v, hidden, mask, width**-0.5)
            with g.module("output"):
                return norm(g.op("Add", blocks.linear(g, "dense", y, hidden, hidden), x))

    with g.module("bert"):
        with g.module("embeddings"):
            x, table = blocks.embed(g, "word_embeddings", ids, vocab, hidden)
            x = g.op("Add", x, blocks.embed(g, "token_type_embeddings", types, token_types, hidden)[0])
            line = blocks.positions(g, ids, seq)
            x = norm(g.op("Add", x, blocks.embed(g, "position_embeddings", line, rows, hidden)[0]))
        mask = blocks.padding_mask(g, attention_mask)
        for i in range(layers):
            with g.module(f"encoder.layer.{i}"):
                x = attention(x)
                with g.module("intermediate"):
                    y = activate(blocks.linear(g, "dense", x, hidden, ffn))
                with g.module("output"):
                    x = norm(g.op("Add", blocks.linear(g, "dense", y, ffn, hidden), x))
    with g.module("cls.predictions"):
        with g.module("transform"):
            x = norm(activate(blocks.linear(g, "dense", x, hidden, hidden)))
        with g.module("decoder"):
            y = g.op("MatMul", x, g.op("Transpose", table if tied else g.weight("weight", [vocab, hidden]), perm=[1, 0]))
            logits = g.op("Add", y, g.weight("bias", [vocab], "zeros"))
    return blocks.cross_entropy(g, logits, labels, vocab)
