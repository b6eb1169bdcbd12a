"""Mixtures of experts whose weights have the experts as a dimension. Letters: e experts, k experts of a token, c places of an expert, f ffn."""

import fractions
import math

import numpy as np
from onnx import TensorProto

from . import blocks


def _route(g, x, hidden, experts, top_k):
    """The weights of each token's experts, which sum to 1, and their numbers: [b, s, k] twice."""
    scores = g.op("Softmax", g.wide(blocks.linear(g, "gate", x, hidden, experts, bias=False)), axis=-1)
    best, place = g.op("TopK", scores, [top_k], outputs=2, axis=-1)
    return g.narrow(g.op("Div", best, g.op("ReduceSum", best, [-1], keepdims=1))), place


def _feed_forward(g, x, into, hidden, ffn, experts, out_of):
    """SwiGLU of every expert; `into` and `out_of` are the equations of its two products."""
    with g.module("experts"):
        y = g.op("Einsum", x, g.weight("gate_up_proj", [experts, 2 * ffn, hidden]), equation=into)
        gate, up = g.op("Split", y, [ffn] * 2, outputs=2, axis=3)
        return g.op("Einsum", g.op("Mul", blocks.silu(g, gate), up), g.weight("down_proj", [experts, hidden, ffn]), equation=out_of)


def dense_mixture(g, x, hidden, ffn, experts, top_k):
    """Every expert computes every token; tokens then take the results of their own."""
    best, place = _route(g, x, hidden, experts, top_k)
    chosen = g.op("OneHot", place, np.int64(experts), g.constant([0.0, 1.0]), axis=-1)
    gates = g.op("Einsum", best, chosen, equation="bsk,bske->bse")
    y = _feed_forward(g, x, "bsd,efd->bsef", hidden, ffn, experts, "bsef,edf->bsed")
    return g.op("Einsum", y, gates, equation="bsed,bse->bsd")


def capacity(g, ids, seq, experts, top_k, factor):
    """The places of an expert, ceil(top_k * factor * s / experts), as 0, 1, ...: int64 [c]."""
    share = top_k * fractions.Fraction(factor).limit_denominator(10**6) / experts
    if isinstance(seq, int):
        return g.constant(np.arange(min(seq, math.ceil(share * seq))))
    raised = g.op("Add", g.op("Mul", blocks.size_of(g, ids, 1, seq), share.numerator), share.denominator - 1)
    return g.op("Range", 0, g.op("Div", raised, share.denominator), 1)


def capacity_mixture(g, x, hidden, ffn, experts, top_k, places):
    """Each expert computes at most c tokens of a sequence, best choices first, then in order; what is over is dropped (GShard, 2006.16668)."""
    best, place = _route(g, x, hidden, experts, top_k)
    chosen = g.op("Equal", g.op("Unsqueeze", place, [-1]), np.arange(experts))  # [b, s, k, e]
    queue = g.op("Transpose", g.op("Cast", chosen, to=TensorProto.INT64), perm=[0, 2, 1, 3])
    queue = g.shape(queue, 0, -1, experts)  # [b, k * s, e]: first choices of all tokens, then second ones
    turn = g.op("Mul", g.op("Sub", g.op("CumSum", queue, 1), 1), queue)
    turn = g.shape(g.op("ReduceSum", turn, [-1], keepdims=0), 0, top_k, -1)
    turn = g.op("Unsqueeze", g.op("Transpose", turn, perm=[0, 2, 1]), [3])
    taken = g.op("Cast", g.op("Equal", turn, places), to=g.type)  # [b, s, k, c]
    chosen = g.op("Cast", chosen, to=g.type)
    weighed = g.op("Mul", chosen, g.op("Unsqueeze", best, [3]))
    dispatch = g.op("Einsum", chosen, taken, equation="bske,bskc->bsec")
    combine = g.op("Einsum", weighed, taken, equation="bske,bskc->bsec")
    y = g.op("Einsum", dispatch, x, equation="bsec,bsd->ebcd")
    y = _feed_forward(g, y, "ebcd,efd->ebcf", hidden, ffn, experts, "ebcf,edf->ebcd")
    return g.op("Einsum", combine, y, equation="bsec,ebcd->bsd")
