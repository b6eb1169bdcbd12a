"""text.py TEXT MODEL: writes a model given in ONNX's textual syntax; lines that begin with // are comments."""

import sys

import onnx
import onnx.parser

text = "\n".join(line for line in open(sys.argv[1]).read().splitlines() if not line.lstrip().startswith("//"))
onnx.save(onnx.parser.parse_model(text), sys.argv[2])
