"""Small models of every family, data for them, and ONNX Runtime's loss."""
import numpy as np
import onnxruntime
from para import models

SIZES = dict(layers=2, hidden=32, heads=4)
TOKENS = 61
SMALL = {
    "gpt": (models.gpt, dict(**SIZES, vocab=TOKENS)),
    "gpt-erf": (models.gpt, dict(**SIZES, vocab=TOKENS, seq=8, tied=False, gelu="erf")),
    "llama": (models.llama, dict(**SIZES, vocab=TOKENS)),
    "llama-grouped": (models.llama, dict(**SIZES, vocab=TOKENS, seq=8, kv_heads=2, head_dim=6, ffn=40, tied=True)),
    "llama-experts": (models.llama, dict(**SIZES, vocab=TOKENS, ffn=24, experts=4)),
    "moe": (models.moe, dict(**SIZES, vocab=TOKENS, ffn=24, kv_heads=2, experts=4)),
    "moe-shared": (models.moe, dict(**SIZES, vocab=TOKENS, ffn=24, seq=8, experts=4, top_k=1, shared_experts=2)),
    "gpt-experts": (models.gpt, dict(**SIZES, vocab=TOKENS, seq=8, experts=4, groups=2)),
    "moe-grouped": (models.moe, dict(**SIZES, vocab=TOKENS, seq=8, experts=4, groups=2, gated=False, shared_experts=1)),
    "bert": (models.bert, dict(**SIZES, vocab=TOKENS)),
    "t5": (models.t5, dict(**SIZES, vocab=TOKENS, buckets=8, max_distance=6)),
    "t5-gated": (models.t5, dict(**SIZES, vocab=TOKENS, seq=8, dec_seq=6, decoder_layers=1, head_dim=6, activation="gated-gelu", tied=False)),
    "vit": (models.vit, dict(**SIZES, classes=10)),
    "vit-mean": (models.vit, dict(**SIZES, classes=10, pool="mean", image=16, channels=1)),
    "vit-parallel": (models.vit, dict(**SIZES, classes=10, pool="attention", parallel=True)),
    "mlp": (models.mlp, dict(layers=2, hidden=16, inputs=4, classes=10)),
    "cnn": (models.cnn, dict(layers=1, hidden=8, image=8)),
}
DIMS = dict(seq=8, dec_seq=6)


def run(model, feeds, outputs=("loss",)):
    session = onnxruntime.InferenceSession(model if isinstance(model, (str, bytes)) else model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(list(outputs), feeds)


def data(graph, samples, classes, seed=0):
    """One array per input; the last two tokens of the first sample are padding, and every third label is none."""
    random, arrays = np.random.default_rng(seed), {}
    for value in graph.inputs:
        shape = [samples] + [size.dim_value or DIMS[size.dim_param] for size in value.type.tensor_type.shape.dim[1:]]
        if value.name == "attention_mask":
            array = np.ones(shape, np.int64)
            array[0, -2:] = 0
        elif value.type.tensor_type.elem_type == 7:
            array = random.integers(0, 2 if value.name == "token_type_ids" else classes, shape)
        else:
            array = random.standard_normal(shape).astype(np.float32)
        if value.name == "labels" and len(shape) > 1:
            array[:, ::3] = -100
        arrays[value.name] = array
    return arrays
