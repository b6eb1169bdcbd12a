"""Parameter counts are the published modules', and files of the largest models are small, quickly made and well typed.

Sources: the model cards of gpt2, gpt2-xl, Llama 2, Llama 3 and 3.1, Mixtral 8x7B, bert-large-uncased (masked-LM head), t5-small and t5-11b,
vit-base-patch16-224. Publications round the others: GPT-3 175B (2005.14165), T5 1.1 xxl (11B), ViT-g/14 1011M (2106.04560), ViT-22B 21743M
(2302.05442, which does not say what its pooling head is); their numbers here are those of the same modules written in PyTorch.
"""
import os
import tempfile
import time

import onnx
from onnx import helper
from para import models

LLAMA = dict(kv_heads=8, theta=5e5, vocab=128256)
PUBLISHED = (
    (124439808, models.gpt(layers=12, hidden=768, heads=12, vocab=50257, seq=1024)),
    (1557611200, models.gpt(layers=48, hidden=1600, heads=25, vocab=50257, seq=1024)),
    (174615846912, models.gpt(layers=96, hidden=12288, heads=96, vocab=51200, positions=2048)),
    (6738415616, models.llama(layers=32, hidden=4096, heads=32, vocab=32000)),
    (13015864320, models.llama(layers=40, hidden=5120, heads=40, vocab=32000)),
    (68976648192, models.llama(layers=80, hidden=8192, heads=64, kv_heads=8, ffn=28672, vocab=32000)),
    (8030261248, models.llama(layers=32, hidden=4096, heads=32, ffn=14336, **LLAMA)),
    (70553706496, models.llama(layers=80, hidden=8192, heads=64, ffn=28672, **LLAMA)),
    (405853388800, models.llama(layers=126, hidden=16384, heads=128, ffn=53248, dtype="bfloat16", **LLAMA)),
    (46702792704, models.moe(layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336, vocab=32000, experts=8, top_k=2)),
    (335174458, models.bert(layers=24, hidden=1024, heads=16, vocab=30522)),
    (60506624, models.t5(layers=6, hidden=512, heads=8, vocab=32128)),
    (11307321344, models.t5(layers=24, hidden=1024, heads=128, head_dim=128, ffn=65536, vocab=32128)),
    (11135332352, models.t5(layers=24, hidden=4096, heads=64, ffn=10240, vocab=32128, activation="gated-gelu", tied=False)),
    (86567656, models.vit(layers=12, hidden=768, heads=12, image=224, patch=16, classes=1000)),
    (1012611432, models.vit(layers=40, hidden=1408, heads=16, ffn=6144, image=224, patch=14, classes=1000)),
    (21907717096, models.vit(layers=48, hidden=6144, heads=48, image=224, patch=14, classes=1000, parallel=True, pool="attention", dtype="float16")),
)

with tempfile.TemporaryDirectory() as folder:
    for count, graph in PUBLISHED:
        assert graph.parameters() == count, (graph.name, graph.parameters(), count)
        started = time.process_time()
        path = os.path.join(folder, "model.onnx")
        models.save(graph, path)
        seconds = time.process_time() - started
        # A node and its names are some 200 bytes.
        assert seconds < 5 and os.path.getsize(path) < 300 * (len(graph.nodes) + len(graph.weights)), (graph.name, seconds, os.path.getsize(path))
        # The checker wants the weights' file; without weights it is the graph that is checked.
        model = onnx.load(path, load_external_data=False)
        offset = 0
        for tensor in model.graph.initializer:
            place = {entry.key: entry.value for entry in tensor.external_data}
            assert place["location"] == "model.onnx.data" and int(place["offset"]) == offset, (graph.name, tensor.name, place)
            offset += int(place["length"])
            model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
        assert offset == graph.bytes()
        del model.graph.initializer[:]
        onnx.checker.check_model(model, full_check=True)

# Twice the layers are twice the nodes: what is made once stays once.
for make in (models.gpt, models.llama, models.moe, models.bert, models.vit, models.t5):
    few, some, many = (len(make(layers=layers).nodes) for layers in (10, 20, 40))
    assert many - some == 2 * (some - few), make.__name__
