"""Mixtures of experts whose weights have the experts as a dimension. Letters: e experts, k experts of a token, c places of an expert, f ffn, g
groups of a sequence."""

import fractions
import math

import numpy as np
from onnx import TensorProto

from . import blocks, sizes


DEFAULTS = dict(top_k=2, capacity_factor=1.25, groups=1)


def settle(experts, **given):
    """What is given of experts (or None), in its order, with defaults for the rest; without experts nothing of them may be given."""
    if experts == 0:
        idle = [f"{sizes.flag(name)} {value}" for name, value in given.items() if value is not None]
        if idle:
            raise sizes.SizeError(f"{', '.join(idle)}: of experts, and there are none: give --experts N too, or leave {'them' if len(idle) > 1 else 'it'} out")
    return [DEFAULTS[name] if value is None else value for name, value in given.items()]


def check(experts, top_k, dtype, seq=None, capacity_factor=1.0, groups=1):
    sizes.check(experts=experts, top_k=top_k, groups=groups)
    if top_k > experts:
        raise sizes.SizeError(f"--top-k {top_k} is more than --experts {experts}")
    if dtype == "bfloat16":
        raise sizes.SizeError("--dtype bfloat16: ONNX's Einsum, which experts need, does not take it; float16 and float32 do")
    sizes.within("capacity_factor", capacity_factor, 0.001, max(experts, 1.25))
    if groups > 1 and isinstance(seq, str):
        raise sizes.SizeError(f"--groups {groups} are parts of a sequence whose length is known: give --seq N")
    if groups > 1 and seq % groups:
        raise sizes.SizeError(f"--groups {groups} does not divide --seq {seq}")


def _route(g, x, hidden, experts, top_k):
    """The weights of each token's experts, which sum to 1, and their numbers: [..., s, k] twice."""
    scores = g.op("Softmax", g.wide(blocks.linear(g, "gate", x, hidden, experts, bias=False)), axis=-1)
    best, place = g.op("TopK", scores, [top_k], outputs=2, axis=-1)
    return g.narrow(g.op("Div", best, g.op("ReduceSum", best, [-1], keepdims=1))), place


def _feed_forward(g, x, into, hidden, ffn, experts, out_of, gated=True, gelu="tanh"):
    """SwiGLU of every expert, or that GELU; `into` and `out_of` are the equations of its two products."""
    with g.module("experts"):
        if not gated:
            y = g.op("Gelu", g.op("Einsum", x, g.weight("up_proj", [experts, ffn, hidden]), equation=into), approximate="tanh" if gelu == "tanh" else "none")
            return g.op("Einsum", y, g.weight("down_proj", [experts, hidden, ffn]), equation=out_of)
        y = g.op("Einsum", x, g.weight("gate_up_proj", [experts, 2 * ffn, hidden]), equation=into)
        gate, up = g.op("Split", y, [ffn] * 2, outputs=2, axis=-1)
        return g.op("Einsum", g.op("Mul", blocks.silu(g, gate), up), g.weight("down_proj", [experts, hidden, ffn]), equation=out_of)


def dense_mixture(g, x, hidden, ffn, experts, top_k):
    """Every expert computes every token; tokens then take the results of their own."""
    best, place = _route(g, x, hidden, experts, top_k)
    chosen = g.op("OneHot", place, np.int64(experts), g.constant([0.0, 1.0]), axis=-1)
    gates = g.op("Einsum", best, chosen, equation="bsk,bske->bse")
    y = _feed_forward(g, x, "bsd,efd->bsef", hidden, ffn, experts, "bsef,edf->bsed")
    return g.op("Einsum", y, gates, equation="bsed,bse->bsd")


def capacity(g, ids, seq, experts, top_k, factor, groups=1):
    """The places of an expert in a group, ceil(top_k * factor * s / experts), as 0, 1, ...: int64 [c]."""
    share = top_k * fractions.Fraction(factor).limit_denominator(10**6) / experts
    if isinstance(seq, int):
        tokens = seq // groups
        return g.constant(np.arange(min(tokens, math.ceil(share * tokens))))
    raised = g.op("Add", g.op("Mul", blocks.size_of(g, ids, 1, seq), share.numerator), share.denominator - 1)
    return g.op("Range", 0, g.op("Div", raised, share.denominator), 1)


def capacity_mixture(g, x, hidden, ffn, experts, top_k, places, gated=True, seq=None, groups=1, gelu="tanh"):
    """Each expert computes at most c tokens of a group, best choices first, then in order; what is over is dropped (GShard, 2006.16668). A
    group is a sequence, or one of `groups` even parts of it, of `seq` tokens."""
    lead, own = ("b", [0]) if groups == 1 else ("bg", [0, groups])
    if groups > 1:
        x = g.shape(x, 0, groups, seq // groups, hidden)
    best, place = _route(g, x, hidden, experts, top_k)
    chosen = g.op("Equal", g.op("Unsqueeze", place, [-1]), np.arange(experts))  # [b, s, k, e]
    turned = list(range(len(lead))) + [len(lead) + 1, len(lead)]
    queue = g.op("Transpose", g.op("Cast", chosen, to=TensorProto.INT64), perm=[*turned, len(lead) + 2])
    queue = g.shape(queue, *own, -1, experts)  # [b, k * s, e]: first choices of all tokens, then second ones
    turn = g.op("Mul", g.op("Sub", g.op("CumSum", queue, len(lead)), 1), queue)
    turn = g.shape(g.op("ReduceSum", turn, [-1], keepdims=0), *own, top_k, -1)
    turn = g.op("Unsqueeze", g.op("Transpose", turn, perm=turned), [len(lead) + 2])
    taken = g.op("Cast", g.op("Equal", turn, places), to=g.type)  # [b, s, k, c]
    chosen = g.op("Cast", chosen, to=g.type)
    weighed = g.op("Mul", chosen, g.op("Unsqueeze", best, [len(lead) + 2]))
    dispatch = g.op("Einsum", chosen, taken, equation=f"{lead}ske,{lead}skc->{lead}sec")
    combine = g.op("Einsum", weighed, taken, equation=f"{lead}ske,{lead}skc->{lead}sec")
    y = g.op("Einsum", dispatch, x, equation=f"{lead}sec,{lead}sd->e{lead}cd")
    y = _feed_forward(g, y, f"e{lead}cd,efd->e{lead}cf", hidden, ffn, experts, f"e{lead}cf,edf->e{lead}cd", gated, gelu)
    y = g.op("Einsum", combine, y, equation=f"{lead}sec,e{lead}cd->{lead}sd")
    return y if groups == 1 else g.shape(y, 0, seq, hidden)
