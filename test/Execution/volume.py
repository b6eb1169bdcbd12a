#!/usr/bin/env python3
"""Bytes that each rank sends in a step, counted by the runtime, against the textbook and against the compiler's prediction.

    test/Execution/volume.py [--models gpt,llama] [--ranks 2,4] [--plans ddp,zero1]

Textbook, for n ranks and G bytes of gradients: an all-reduce sends 2 (n-1)/n G a rank (DDP); ZeRO-1 and ZeRO-2 replace it by a
reduce-scatter and an all-gather of the same bytes together; ZeRO-3 gathers parameters twice, 1.5 times as much (Rajbhandari et al.
2020), but once what the backward pass makes no use of: a parameter that is only added, or looked up in. Beyond that a step sends a few
scalars (loss, norm, counts). Checked: no less than 98 % of the textbook (the gradient of a table that is used in part is sent before it is
padded), at most 64 bytes more; the prediction within 64 bytes of what was sent. Exit status 1 if one of them does not hold.
"""

import argparse
import json
import sys
import tempfile

import harness

#: plan -> factor on 2 (n-1)/n G
PLANS = {"ddp": 1.0, "zero1": 1.0, "zero2": 1.0, "zero3": 1.5}
LEVELS = {"ddp": 0, "zero1": 1, "zero2": 2, "zero3": 3}
MODELS = {**harness.MODELS, "converge_gpt": "training/converge_gpt"}

#: Bytes for the loss, the count of labels and the gradient norm, which are no gradients.
SCALARS = 64


def measure(model, plan, ranks, folder):
    """(bytes sent by each rank, predicted bytes, bytes of gradients, of these those that the backward pass makes no use of)."""
    flags = [str(model), "--train", "--ranks", str(ranks), f"--plan={plan}", *harness.freeze_flags(model.parent)]
    predicted = json.loads(harness.call([harness.PARA_OPT, str(model), "--train", *harness.freeze_flags(model.parent), "--mesh", f"data={ranks}",
                                         f"--zero={LEVELS[plan]}", "--explain", "--simulate", "--json"]))["bytes_sent"]
    harness.call([harness.PARA_OPT, *flags, "-o", f"{folder}/model"])
    harness.call([f"{folder}/model", "--ranks", str(ranks), "--threads", "1", "--data", str(model.parent / "test_data_set_0"), "--steps", "3",
                  "--metrics", f"{folder}/metrics.jsonl", "--progress=never"])
    last = [json.loads(line) for line in open(f"{folder}/metrics.jsonl")][-1]
    info = json.loads(harness.call([f"{folder}/model", "--info=json"]))
    gradients = unused = 0
    once = used_once(model)
    for parameter in info["parameters"]:
        size = 4
        for extent in parameter["shape"]:
            size *= extent
        gradients += size if parameter["trainable"] else 0
        unused += size if parameter["trainable"] and parameter["name"] in once else 0
    return last["bytes_sent_per_rank"], predicted, gradients, unused


def used_once(model):
    """Names of parameters of which the backward pass needs no value: all that takes one, moved or not, adds it or looks up in it."""
    import onnx

    graph = onnx.load(model, load_external_data=False).graph
    users = {}
    for node in graph.node:
        for place, name in enumerate(node.input):
            users.setdefault(name, []).append((node, place))

    def adds(name):
        for node, place in users.get(name, []):
            moves = node.op_type in ("Identity", "Transpose", "Reshape", "Unsqueeze") and place == 0 and adds(node.output[0])
            if not (moves or node.op_type == "Add" or node.op_type == "Gather" and place == 0 or node.op_type in ("Gemm", "LayerNormalization", "Conv") and place == 2):
                return False
        return True

    return {initializer.name for initializer in graph.initializer if adds(initializer.name)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="gpt,llama,converge_gpt")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--plans", default=",".join(PLANS))
    arguments = parser.parse_args()
    harness.require_shared()
    passed = failed = 0
    print(f"{'model':<14}{'plan':<8}{'ranks':>5}{'gradients':>11}{'textbook':>11}{'sent':>11}{'over':>8}{'predicted':>11}")
    with tempfile.TemporaryDirectory(prefix="para-") as folder:
        for name in arguments.models.split(","):
            model = harness.SHARED / MODELS[name] / "model.onnx"
            for plan in arguments.plans.split(","):
                for n in map(int, arguments.ranks.split(",")):
                    label = f"{name:<14}{plan:<8}{n:5}"
                    try:
                        sent, predicted, gradients, unused = measure(model, plan, n, folder)
                    except harness.Failed as error:
                        print(f"{label}  FAILED: {error}", flush=True)
                        failed += 1
                        continue
                    textbook = (n - 1) / n * (PLANS[plan] * 2 * gradients - (unused if plan == "zero3" else 0))
                    faults = []
                    if not 0.98 * textbook <= min(sent) or max(sent) > textbook + SCALARS:
                        faults.append("not the textbook's bytes")
                    if abs(predicted - max(sent)) > SCALARS:
                        faults.append("not the predicted bytes")
                    passed, failed = passed + (not faults), failed + bool(faults)
                    print(f"{label}{gradients:11}{textbook:11.0f}{max(sent):11}{100 * (max(sent) / textbook - 1):7.2f}%"
                          f"{predicted:11}  {', '.join(faults)}".rstrip(), flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
