"""refused.py PATH: the command line refuses these sizes with exit 2 and one line, and writes nothing."""
import os
import sys

from para.models.__main__ import main

PATH = sys.argv[1]
COMMANDS = """
gpt --hidden 10 --heads 4
gpt --layers 0 --hidden -8
gpt --layers 1000000000
gpt --hidden 99999999999999999999
gpt --layers 1 --heads 1 --hidden 2147483647 --vocab 2147483647
gpt --seq 8 --positions 4
gpt --batch a-b
gpt --weights -1
gpt --weights 1 --hidden 12288
gpt --top-k 1 --groups 2
gpt --capacity-factor 1.25 --experts 0
llama --top-k 2
llama --heads 6 --hidden 48 --kv-heads 4
llama --head-dim 3
llama --theta 0
moe --experts 0
moe --top-k 9
moe --capacity-factor nan
moe --groups 3 --seq 8
moe --dtype bfloat16
t5 --buckets 6
vit --image 30
mlp -o FOLDER/that/is/not/there.onnx
"""
for command in COMMANDS.strip().splitlines():
    family, *flags = command.split()
    sys.argv = ["para.models", family, "-o", PATH, *flags]
    try:
        main()
        print(f"not refused: {command}", file=sys.stderr)
    except SystemExit as end:
        assert end.code == 2, (command, end.code)
assert not os.path.exists(PATH)
