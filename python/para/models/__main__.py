"""python -m para.models FAMILY --layers 2 ... -o model.onnx"""

import argparse
import inspect

from . import FAMILIES, save


def main():
    parser = argparse.ArgumentParser(prog="python -m para.models", description="Writes a model with a loss as an ONNX file.")
    families = parser.add_subparsers(dest="family", required=True, metavar="FAMILY")
    for name, make in FAMILIES.items():
        sub = families.add_parser(name, help=inspect.getdoc(make).splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        for option, parameter in inspect.signature(make).parameters.items():
            kind = (lambda s: int(s) if s.isdigit() else s) if option == "batch" else float if option == "theta" else int
            sub.add_argument("--" + option.replace("_", "-"), type=kind, default=parameter.default)
        sub.add_argument("--weights", type=int, metavar="SEED", help="write random weights; without it the file has none")
        sub.add_argument("-o", "--output", default=name + ".onnx")
    options = vars(parser.parse_args())
    family, weights, output = options.pop("family"), options.pop("weights"), options.pop("output")
    save(FAMILIES[family](**options), output, weights)


if __name__ == "__main__":
    main()
