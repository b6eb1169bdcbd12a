"""python -m para.models FAMILY --layers 2 ... -o model.onnx"""

import argparse
import inspect
import sys

from . import FAMILIES, SizeError, save
from .builder import DTYPES
from .experts import DEFAULTS
from .sizes import flag

SYMBOLS = ("batch", "seq", "dec_seq")
FLOATS = ("theta", "capacity_factor")
CHOICES = {"gelu": ("tanh", "erf"), "dtype": tuple(DTYPES), "pool": ("cls", "mean", "attention"), "activation": ("relu", "gated-gelu")}
HELP = {
    "layers": "blocks; of an encoder-decoder, those of the encoder",
    "decoder_layers": "blocks of the decoder (default: --layers)",
    "hidden": "width of the residual stream",
    "heads": "attention heads",
    "kv_heads": "heads of keys and values, a divisor of --heads (default: --heads)",
    "head_dim": "elements of a head (default: hidden / heads)",
    "ffn": "inner width of the feed-forward part (default: 4 * hidden; in llama and, with gates, in moe 8/3 * hidden, rounded up to 256)",
    "vocab": "tokens",
    "seq": "tokens of a sample: a number fixes it, a name is a symbolic dimension",
    "dec_seq": "tokens of the decoder, likewise",
    "batch": "samples: a number fixes it, a name is a symbolic dimension",
    "positions": "rows of the table of learned positions (default: --seq if it is a number, else 1024 in gpt, 512 in bert)",
    "experts": "experts of each block, in gpt and llama 0 for none; in llama all of them see every token",
    "top_k": "experts of a token",
    "capacity_factor": "an expert takes this multiple of its even share of a sequence; what is over is dropped",
    "shared_experts": "experts that every token takes, beside the routed ones",
    "gated": "experts are SwiGLU; without it GELU",
    "groups": "parts of a sequence that share out the places of experts each by itself",
    "theta": "base of the rotary frequencies",
    "tied": "one table for the embedding and the head",
    "gelu": "which GELU",
    "activation": "feed-forward part",
    "token_types": "rows of the table of token types",
    "buckets": "buckets of relative distances, a multiple of 4",
    "max_distance": "distance from which all are in the last bucket",
    "image": "height and width in pixels, a multiple of --patch",
    "patch": "height and width of a patch",
    "channels": "channels of a pixel",
    "classes": "classes",
    "inputs": "features of a sample",
    "pool": "what the classifier sees: a class token, the mean, or a learned query's attention",
    "parallel": "ViT-22B's blocks: attention beside the feed-forward part, normed queries and keys, fewer biases",
    "dtype": "element type of weights and activations",
}


class Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Says the defaults that are numbers or words."""

    def _get_help_string(self, action):
        return action.help if action.default is None else super()._get_help_string(action)


def size(text):
    """A number, or the name of a dimension."""
    try:
        return int(text)
    except ValueError:
        return text


def add_option(parser, name, default):
    how = dict(default=default, help=HELP[name] + (f" (default: {DEFAULTS[name]})" if default is None and name in DEFAULTS else ""))
    if isinstance(default, bool):
        how["action"] = argparse.BooleanOptionalAction
    elif name in CHOICES:
        how["choices"] = CHOICES[name]
    else:
        how.update(type=size if name in SYMBOLS else float if name in FLOATS else int, metavar="X" if name in FLOATS else "N")
    parser.add_argument(flag(name), **how)


def main():
    parser = argparse.ArgumentParser(
        prog="python -m para.models", description="Writes a model with a loss as an ONNX file: without weights, of any size.",
        epilog="python -m para.models gpt --layers 96 --hidden 12288 --heads 96 --vocab 50257 -o gpt.onnx; FAMILY --help tells a family's flags")
    families = parser.add_subparsers(dest="family", required=True, metavar="FAMILY")
    for name, make in FAMILIES.items():
        text = inspect.getdoc(make).splitlines()[0]
        sub = families.add_parser(name, help=text, description=text, formatter_class=Formatter)
        for option, parameter in inspect.signature(make).parameters.items():
            add_option(sub, option, parameter.default)
        sub.add_argument("--weights", type=int, metavar="SEED", help="write random weights; without it the file has none")
        sub.add_argument("-o", "--output", default=name + ".onnx", metavar="PATH", help="the file")
    options = vars(parser.parse_args())
    family, weights, output = options.pop("family"), options.pop("weights"), options.pop("output")
    try:
        graph = FAMILIES[family](**options)
        save(graph, output, weights)
    except (SizeError, OSError) as error:
        print(f"para.models: {family}: {error}", file=sys.stderr)
        sys.exit(2)
    print(f"{output}: {graph.parameters()} parameters ({graph.bytes()} bytes), {len(graph.weights)} weights, {len(graph.nodes)} nodes", file=sys.stderr)


if __name__ == "__main__":
    main()
