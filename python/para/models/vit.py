"""Vision transformers: ViT (2010.11929), and the blocks of ViT-22B (2302.05442)."""

import numpy as np

from . import blocks, sizes
from .builder import Graph


def vit(layers=2, hidden=64, heads=4, ffn=None, image=32, patch=8, channels=3, classes=10, pool="cls", gelu="erf", parallel=False,
        dtype="float32", batch="batch"):
    """A vision transformer: pixel_values [batch, channels, image, image], labels [batch] -> cross-entropy loss."""
    sizes.check(dict(batch=batch), layers=layers, hidden=hidden, heads=heads, ffn=ffn, image=image, patch=patch, channels=channels,
                classes=classes)
    sizes.divides("patch", "image", patch=patch, image=image)
    ffn, width, patches = ffn or 4 * hidden, sizes.head_width(hidden, heads), (image // patch) ** 2
    g = Graph("vit", opset=22 if dtype == "bfloat16" else 20, dtype=dtype)  # where Conv takes it
    pixels, labels = g.input("pixel_values", [batch, channels, image, image], g.type), g.input("labels", [batch])
    epsilon = 1e-6 if parallel else 1e-12

    def expand(weight):
        """One row a sample: [1, 1, hidden] -> [b, 1, hidden]."""
        if isinstance(batch, int):
            return g.op("Expand", weight, [batch, 1, 1])
        return g.op("Expand", weight, g.op("Concat", g.op("Shape", pixels, start=0, end=1), [1, 1], axis=0))

    def norm(name, x, size=hidden):
        return blocks.layer_norm(g, name, x, size, epsilon, bias=not parallel)

    def split(x):
        return blocks.split_heads(g, x, heads, width)

    def attention(x):
        with g.module("attention"):
            with g.module("attention"):
                q, k, v = (split(blocks.linear(g, part, x, hidden, hidden, bias=not parallel)) for part in ("query", "key", "value"))
                if parallel:
                    q, k = norm("q_norm", q, width), norm("k_norm", k, width)
                y = blocks.attend(g, q, k, v, hidden, scale=width**-0.5)
            with g.module("output"):
                return blocks.linear(g, "dense", y, hidden, hidden)

    def feed_forward(x):
        with g.module("intermediate"):
            y = g.op("Gelu", blocks.linear(g, "dense", x, hidden, ffn), approximate="tanh" if gelu == "tanh" else "none")
        with g.module("output"):
            return blocks.linear(g, "dense", y, ffn, hidden)

    def attention_pool(x):
        """A learned query that attends to all patches: [b, p, hidden] -> [b, hidden]."""
        with g.module("pooler"):
            q = split(blocks.linear(g, "query", expand(g.weight("probe", [1, 1, hidden])), hidden, hidden))
            k, v = (split(blocks.linear(g, part, x, hidden, hidden)) for part in ("key", "value"))
            return g.op("Squeeze", blocks.linear(g, "dense", blocks.attend(g, q, k, v, hidden, scale=width**-0.5), hidden, hidden), [1])

    with g.module("vit"):
        with g.module("embeddings"):
            with g.module("patch_embeddings.projection"):
                kernel = g.weight("weight", [hidden, channels, patch, patch])
                x = g.op("Conv", pixels, kernel, g.weight("bias", [hidden], "zeros"), kernel_shape=[patch] * 2, strides=[patch] * 2)
                x = g.op("Transpose", g.shape(x, 0, hidden, patches), perm=[0, 2, 1])
            if pool == "cls":
                x = g.op("Concat", expand(g.weight("cls_token", [1, 1, hidden])), x, axis=1)
            x = g.op("Add", x, g.weight("position_embeddings", [1, patches + (pool == "cls"), hidden]))
        for i in range(layers):
            with g.module(f"encoder.layer.{i}"):
                y = norm("layernorm_before", x)
                x = g.op("Add", x, attention(y))
                x = g.op("Add", x, feed_forward(y if parallel else norm("layernorm_after", x)))
        x = norm("layernorm", x)
        if pool == "cls":
            x = g.op("Gather", x, np.int64(0), axis=1)
        else:
            x = attention_pool(x) if pool == "attention" else g.op("ReduceMean", x, [1], keepdims=0)
    with g.module("classifier"):
        weights = g.weight("weight", [classes, hidden]), g.weight("bias", [classes], "zeros")
        logits = g.op("Gemm", x, *weights, transB=1)
    return blocks.cross_entropy(g, logits, labels, classes)
