"""collection.py PARA_IMPORT_TEST SHARED: imports the training models of a collection, and runs those with stored outputs."""

import os
import subprocess
import sys

TORCH = ["mlp_ce_odd", "mlp_mse", "gpt_tied_lm", "llama_gqa_tied_lm", "cnn_bn_ce", "lora_frozen", "embedding_bag_pad"]
TRAINING = ["llama_gqa", "gpt2_hf", "bert_mlm", "vit_cls", "resnet_bn", "mixtral_moe", "whisper_like"]


def main():
    tool, shared = sys.argv[1:]
    folders = [os.path.join(shared, "onnx", "torch", "train_" + name) for name in TORCH]
    folders += [os.path.join(shared, "training", name) for name in TRAINING]
    interpret = os.path.join(os.path.dirname(os.path.abspath(__file__)), "interpret.py")
    wrong = 0
    for folder in folders:
        fixed, dynamic = os.path.join(folder, "model.onnx"), os.path.join(folder, "model_dyn.onnx")
        commands = [[sys.executable, interpret, tool, fixed], [tool, fixed, "--train", "--quiet"], [tool, fixed, "--precision=f64", "--quiet"]]
        if os.path.exists(dynamic):
            commands.append([tool, dynamic, "--train", "--quiet", "--dim", "batch=4"])
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                wrong += 1
                print("failed:", " ".join(command), done.stdout, done.stderr, sep="\n")
    print(f"{len(folders)} models, {wrong} failures")
    sys.exit(wrong > 0 or not folders)


if __name__ == "__main__":
    main()
