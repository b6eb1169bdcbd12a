"""Runs imported programs with numpy and compares with ONNX Runtime, or with stored outputs.

interpret.py PARA_IMPORT_TEST model.onnx [--dim NAME=N]... [--precision=f64] [--seed S] [--tolerance T]
   Inputs are random (integers in [0, 4)) and the outputs of ONNX Runtime are what is expected; if the model has a folder
   test_data_set_0 beside it and nothing is bound, its inputs and outputs are taken instead.
"""

import argparse
import math
import os
import re
import subprocess
import sys

import numpy as np

# bf16 is computed as f32 and not rounded.
TYPES = {"bf16": np.float32, "f32": np.float32, "f64": np.float64, "f16": np.float16, "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}


def parse_type(text):
    *dims, element = text.split("x")
    return [int(d) for d in dims], TYPES[element]


def dense(text, shape, dtype):
    """Elements of a dense<...> attribute."""
    width = np.dtype(dtype).itemsize
    if text.startswith('"0x'):
        raw = bytes.fromhex(text[3:-1])
        if dtype is np.bool_:
            return np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")[: math.prod(shape)].astype(bool).reshape(shape)
        return np.frombuffer(raw, dtype).reshape(shape)

    def number(word):
        if word in ("true", "false"):
            return word == "true"
        if word.startswith("0x"):
            return np.frombuffer(int(word, 16).to_bytes(width, "little"), dtype)[0]
        return dtype(word)

    values = [number(w) for w in re.findall(r"[-+\w.]+", text)]
    return np.full(shape, values[0], dtype) if len(values) == 1 else np.array(values, dtype).reshape(shape)


def windows(x, size, strides, dilations, low, out, fill):
    """The elements under each window as a new last dimension."""
    n = len(size)
    high = [max(0, (o - 1) * s + d * (k - 1) + 1 - l - e) for o, s, d, k, l, e in zip(out, strides, dilations, size, low, x.shape[2:])]
    x = np.pad(x, [(0, 0), (0, 0)] + list(zip(low, high)), constant_values=fill)
    parts = []
    for place in np.ndindex(*size):
        cut = tuple(slice(p * d, p * d + (o - 1) * s + 1, s) for p, d, o, s in zip(place, dilations, out, strides))
        parts.append(x[(slice(None), slice(None)) + cut])
    return np.stack(parts, -1)


def convolution(x, w, a, shape):
    groups, spatial = a["groups"], len(a["strides"])
    under = windows(x, w.shape[2:], a["strides"], a["dilations"], a["pad_low"], shape[2:], 0)
    n, c = x.shape[:2]
    under = under.reshape(n, groups, c // groups, *shape[2:], -1)
    w = w.reshape(groups, w.shape[0] // groups, w.shape[1], -1)
    letters = "xyz"[:spatial]
    return np.einsum(f"ngc{letters}p,gkcp->ngk{letters}", under, w).reshape(shape)


def transposed_convolution(g, w, a, shape):
    """Adds each element of the cotangent times the weight to where its window was."""
    groups, n = a["groups"], g.shape[0]
    room = [s + l + h for s, l, h in zip(shape[2:], a["pad_low"], a["pad_high"])]
    out = np.zeros([n, shape[1]] + room, g.dtype)
    gg = g.reshape(n, groups, g.shape[1] // groups, *g.shape[2:])
    ww = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    letters = "xyz"[: len(room)]
    for place in np.ndindex(*w.shape[2:]):
        part = np.einsum(f"ngk{letters},gkc->ngc{letters}", gg, ww[(...,) + place]).reshape(n, shape[1], *g.shape[2:])
        at = tuple(slice(p * d, p * d + (o - 1) * s + 1, s) for p, d, o, s in zip(place, a["dilations"], g.shape[2:], a["strides"]))
        out[(slice(None), slice(None)) + at] += part
    return out[(slice(None), slice(None)) + tuple(slice(l, l + s) for l, s in zip(a["pad_low"], shape[2:]))]


def softmax(x, dim):
    e = np.exp(x - x.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


def log_softmax(x, dim):
    x = x - x.max(dim, keepdims=True)
    return x - np.log(np.exp(x).sum(dim, keepdims=True))


def divide(x, y):
    return x / y if x.dtype.kind == "f" else np.trunc(x / y).astype(x.dtype)


def pad(x, a, shape, dtype):
    out = np.full(shape, a["value"], dtype)
    source, target = [], []
    for size, low, full in zip(x.shape, a["low"], shape):
        begin, end = max(0, -low), min(size, full - low)
        source.append(slice(begin, max(begin, end)))
        target.append(slice(begin + low, max(begin, end) + low))
    out[tuple(target)] = x[tuple(source)]
    return out


def gather(table, indices, dim):
    inside = (indices >= 0) & (indices < table.shape[dim])
    rows = np.take(table, np.where(inside, indices, 0), axis=dim)
    return np.where(inside.reshape((1,) * dim + indices.shape + (1,) * (table.ndim - dim - 1)), rows, np.zeros((), table.dtype))


def cross_entropy(scores, labels):
    inside = (labels >= 0) & (labels < scores.shape[-1])
    picked = np.take_along_axis(log_softmax(scores, -1), np.where(inside, labels, 0)[..., None], -1)[..., 0]
    return np.where(inside, -picked, 0).astype(scores.dtype)


def normalize(x, a):
    dims = tuple(a["dims"])
    mean, variance = x.mean(dims, keepdims=True), x.var(dims, keepdims=True)
    return (x - mean) / np.sqrt(variance + a["epsilon"]).astype(x.dtype), mean, variance


def dot(x, y, a):
    xb, yb, xc, yc = a["lhs_batch"], a["rhs_batch"], a["lhs_contract"], a["rhs_contract"]
    xs, ys = list(range(x.ndim)), [x.ndim + i for i in range(y.ndim)]
    for i, j in list(zip(xb, yb)) + list(zip(xc, yc)):
        ys[j] = xs[i]
    free = lambda letters, taken: [letters[i] for i in range(len(letters)) if i not in taken]
    return np.einsum(x, xs, y, ys, [xs[i] for i in xb] + free(xs, xb + xc) + free(ys, yb + yc))


ERF = np.vectorize(math.erf, otypes=[np.float64])
COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
REDUCE = {"sum": np.sum, "max": np.max, "min": np.min}
UNARY = {"neg": np.negative, "abs": np.abs, "sign": np.sign, "floor": np.floor, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
         "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "not": np.logical_not, "relu": lambda x: np.maximum(x, 0),
         "erf": lambda x: ERF(x).astype(x.dtype), "sigmoid": lambda x: 1 / (1 + np.exp(-x))}
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": divide, "max": np.maximum, "min": np.minimum, "pow": np.power}


def run_op(kind, v, a, shape, dtype):
    """One op on arrays; `shape` and `dtype` are those of its first result."""
    if kind in UNARY:
        return UNARY[kind](v[0])
    if kind in BINARY:
        return BINARY[kind](v[0], v[1])
    if kind == "broadcast":
        middle = [1] * len(shape)
        for size, dim in zip(v[0].shape, a["dims"]):
            middle[dim] = size
        return np.broadcast_to(v[0].reshape(middle), shape)
    if kind == "slice":
        at = [o + np.arange(n) * s for o, n, s in zip(a["offsets"], shape, a["strides"])]
        return v[0][np.ix_(*at)] if at else v[0]
    if kind == "pool":
        fill = {"sum": 0, "max": -np.inf, "min": np.inf}[a["kind"]]
        under = windows(v[0], a["window"], a["strides"], a["dilations"], a["pad_low"], shape[2:], fill)
        return REDUCE[a["kind"]](under, -1)
    return {
        "constant": lambda: a["value"],
        "iota": lambda: np.broadcast_to(np.arange(shape[a["dim"]], dtype=dtype).reshape([-1 if i == a["dim"] else 1 for i in range(len(shape))]), shape),
        "compare": lambda: COMPARE[a["predicate"]](v[0], v[1]),
        "select": lambda: np.where(v[0], v[1], v[2]),
        "cast": lambda: v[0] != 0 if dtype is np.bool_ else v[0].astype(dtype),
        "reshape": lambda: v[0].reshape(shape),
        "transpose": lambda: v[0].transpose(a["permutation"]),
        "pad": lambda: pad(v[0], a, shape, dtype),
        "concat": lambda: np.concatenate(v, a["dim"]),
        "reduce": lambda: REDUCE[a["kind"]](v[0], tuple(a["dims"])).astype(dtype),
        "extent": lambda: np.array(math.prod(v[0].shape[d] for d in a["dims"]), dtype),
        "dot": lambda: dot(v[0], v[1], a),
        "index": lambda: np.where(v[0] < 0, v[0] + a["entries"], v[0]) if a["from_end"] else v[0],
        "gather": lambda: gather(v[0], v[1], a["dim"]),
        "softmax": lambda: softmax(v[0], a["dim"]),
        "log_softmax": lambda: log_softmax(v[0], a["dim"]),
        "cross_entropy": lambda: cross_entropy(v[0], v[1]),
        "normalize": lambda: normalize(v[0], a),
        "convolution": lambda: convolution(v[0], v[1], a, shape),
        "convolution_input_grad": lambda: transposed_convolution(v[0], v[1], a, shape),
    }[kind]()


def parse_attributes(text):
    result = {"from_end": bool(re.search(r"\bfrom_end\b", text))}
    for name, values in re.findall(r"(\w+) = array<i64(?:: ([-\d, ]+))?>", text):
        result[name] = [int(x) for x in values.split(",")] if values else []
    for name, value in re.findall(r"(\w+) = (-?[\d.]+(?:[eE][-+]?\d+)?|0x\w+) : [if]\d+", text):
        result[name] = float(value) if re.search(r"[.eE]", value) else int(value)
    for name, value in re.findall(r"(\w+) = #para<\w+ (\w+)>", text):
        result[name] = value
    found = re.search(r"value = dense<(.*)> : tensor<([^>]*)>", text)
    if found:
        result["value"] = dense(found[1], *parse_type(found[2]))
    return result


def load_parameter(text, shape, dtype, folder):
    found = re.search(r'para.source = #para.source<"([^"]*)", (\d+), (\d+), (\w+)>', text)
    if found:
        name, offset, count, element = found.groups()
        with open(os.path.join(folder, name), "rb") as file:
            file.seek(int(offset))
            raw = file.read(int(count))
        if element == "bf16":
            return (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape).astype(dtype)
        return np.frombuffer(raw, TYPES[element] if element != "i1" else np.bool_).reshape(shape).astype(dtype)
    found = re.search(r"para.value = dense<(.*?)> : tensor<([^>]*)>", text)
    return dense(found[1], *parse_type(found[2])).astype(dtype)


def run(program, folder, feeds):
    """Results of @main by name."""
    lines = program.splitlines()
    head = next(l for l in lines if '"func.func"' in l)
    arguments = re.search(r"arg_attrs = \[(.*?)\], function_type", head)[1]
    results = re.search(r"res_attrs = \[(.*?)\]", head)[1]
    names = re.findall(r'para.name = "([^"]*)"', results)
    block = next(l for l in lines if "^bb0" in l)
    types = re.findall(r"%arg\d+: tensor<([^>]*)>", block)
    values = {}
    for i, (text, type_text) in enumerate(zip(re.findall(r"\{(.*?)\}(?:, (?=\{)|$)", arguments), types)):
        shape, dtype = parse_type(type_text)
        name = re.search(r'para.name = "([^"]*)"', text)[1]
        values[f"%arg{i}"] = feeds[name].astype(dtype) if name in feeds else load_parameter(text, shape, dtype, folder)
        assert list(values[f"%arg{i}"].shape) == shape, (name, values[f"%arg{i}"].shape, shape)
    for line in lines[lines.index(block) + 1:]:
        found = re.match(r'\s*(?:(%[\w]+)(?::\d+)? = )?"([\w.]+)"\((.*?)\)(?: <\{(.*)\}>)?(?: \{.*\})? : \((.*)\) -> (.*)', line)
        if not found:
            break
        target, kind, operands, attributes, _, types = found.groups()
        operands = [values[o.strip()] for o in operands.split(",") if o.strip()]
        if kind == "func.return":
            return dict(zip(names, operands))
        shape, dtype = parse_type(re.search(r"tensor<([^>]*)>", types)[1])
        with np.errstate(all="ignore"):
            out = run_op(kind.removeprefix("para."), operands, parse_attributes(attributes or ""), shape, dtype)
        if isinstance(out, tuple):
            for i, part in enumerate(out):
                values[f"{target}#{i}"] = part.astype(dtype)
        else:
            values[target] = np.asarray(out).astype(dtype)
            assert list(values[target].shape) == shape, (line, values[target].shape)


def random_feeds(session, shapes, rng):
    feeds = {}
    for entry in session.get_inputs():
        shape = shapes[entry.name]
        kind = entry.type[7:-1]
        feeds[entry.name] = (rng.standard_normal(shape).astype({"float": "f4", "double": "f8", "float16": "f2"}[kind])
                             if kind in ("float", "double", "float16") else rng.integers(0, 2 if kind == "bool" else 4, shape).astype(kind))
    return feeds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("model")
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--precision", default="model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    options = parser.parse_args()
    import onnx
    from onnx import numpy_helper

    command = [options.tool, options.model, "--generic", f"--precision={options.precision}"] + [f"--dim={d}" for d in options.dim]
    program = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    folder = os.path.dirname(options.model)
    stored = os.path.join(folder, "test_data_set_0")
    if os.path.isdir(stored) and not options.dim:
        model = onnx.load(options.model, load_external_data=False)
        present = {t.name for t in model.graph.initializer}
        entries = [i.name for i in model.graph.input if i.name not in present]
        load = lambda kind, i: numpy_helper.to_array(onnx.load_tensor(os.path.join(stored, f"{kind}_{i}.pb")))
        feeds = {name: load("input", i) for i, name in enumerate(entries)}
        expected = {o.name: load("output", i) for i, o in enumerate(model.graph.output)}
    else:
        import onnxruntime

        onnxruntime.set_default_logger_severity(3)
        session = onnxruntime.InferenceSession(options.model, providers=["CPUExecutionProvider"])
        block = next(l for l in program.splitlines() if "^bb0" in l)
        shapes = {e.name: parse_type(t)[0] for e, t in zip(session.get_inputs(), re.findall(r"%arg\d+: tensor<([^>]*)>", block))}
        feeds = random_feeds(session, shapes, np.random.default_rng(options.seed))
        expected = dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))
    found = run(program, folder, feeds)
    failed = False
    for name, want in expected.items():
        got = found[name].astype(np.float64)
        want = np.asarray(want).astype(np.float64)
        scale = np.max(np.abs(want[np.isfinite(want)]), initial=1e-30)
        with np.errstate(all="ignore"):
            same = (got == want) | (np.isnan(got) & np.isnan(want))
            error = np.max(np.where(same, 0, np.abs(got - want)), initial=0) / scale if got.shape == want.shape else np.inf
        failed |= not error <= options.tolerance
        print(f"{name} {list(want.shape)} error {error:.1e}{'' if error <= options.tolerance else ' WRONG'}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
