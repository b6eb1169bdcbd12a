"""Imports one-node models and compares their numbers with ONNX Runtime's.

cases.py PARA_IMPORT_TEST FILE

A line of FILE that is no comment is a case: opset | inputs | outputs | nodes, as in
   17 | float[2,3] x | float[2,3] y | y = Relu(x)
Outputs may leave out their shape. Words of the form {1,2} are constants: int64 lists, or floats if one has a point.
"""

import itertools
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser
import onnxruntime

import interpret


def build(line):
    opset, inputs, outputs, body = (part.strip() for part in line.split("|"))
    number = itertools.count()
    constants = []

    def constant(found):
        name = f"c{next(number)}"
        words = [w for w in found[1].split(",") if w.strip()]
        kind = "float" if "." in found[1] else "int64"
        constants.append(f"{name} = Constant <value = {kind}[{len(words)}] {{{','.join(words)}}}> ()")
        return name

    body = re.sub(r"\{([-\d., e]*)\}", constant, body)
    body = " ".join(constants + [body])
    text = f'<ir_version: 8, opset_import: ["" : {opset}, "com.microsoft" : 1]> g ({inputs}) => ({outputs}) {{ {body} }}'
    return onnx.parser.parse_model(text)


def main():
    tool, path = sys.argv[1:]
    onnxruntime.set_default_logger_severity(3)
    cases = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.onnx")
        for line in open(path):
            if line.lstrip().startswith("//") or not line.strip():
                continue
            cases += 1
            try:
                onnx.save(build(line), model)
                program = subprocess.run([tool, model, "--generic"], check=True, capture_output=True, text=True).stdout
                session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
                feeds = interpret.random_feeds(session, {e.name: e.shape for e in session.get_inputs()}, np.random.default_rng(cases))
                expected = session.run(None, feeds)
                found = interpret.run(program, folder, feeds)
            except subprocess.CalledProcessError as error:
                print(f"not imported: {line.strip()}\n{error.stderr}")
                wrong += 1
                continue
            except Exception as error:
                print(f"{type(error).__name__}: {line.strip()}\n{error}")
                wrong += 1
                continue
            for output, want in zip(session.get_outputs(), expected):
                got = found[output.name]
                tolerance = 2e-5 if want.dtype != np.float16 else 2e-3
                if got.shape != want.shape or got.dtype != want.dtype or not np.allclose(got, want, tolerance, tolerance, equal_nan=True):
                    print(f"wrong numbers: {line.strip()}\n{got}\n{want}")
                    wrong += 1
    print(f"{cases} cases, {wrong} wrong")
    sys.exit(wrong > 0 or cases == 0)


if __name__ == "__main__":
    main()
