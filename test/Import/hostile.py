"""hostile.py FOLDER: writes models that are valid encodings and meant to do harm."""

import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def write(folder, name, nodes, initializers=(), functions=(), shape=(2,), output_shape=None):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, output_shape)
    graph = helper.make_graph(nodes, "g", [x], [y], list(initializers))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    save(helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=8), os.path.join(folder, name + ".onnx"))


def tensor(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def declared(name, dims):
    """An initializer that says it is large and holds four bytes."""
    return TensorProto(name=name, dims=dims, data_type=TensorProto.FLOAT, raw_data=b"\0\0\0\0")


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    node = helper.make_node
    write(folder, "huge-dims", [node("Add", ["x", "w"], ["y"])], [declared("w", [1 << 40])])
    write(folder, "overflowing-dims", [node("Add", ["x", "w"], ["y"])], [declared("w", [1 << 62, 1 << 62, 4])])
    write(folder, "negative-dims", [node("Add", ["x", "w"], ["y"])], [declared("w", [-1])])
    write(folder, "short-data", [node("Add", ["x", "w"], ["y"])], [declared("w", [1000])])
    write(folder, "huge-expand", [node("Expand", ["x", "s"], ["y"])], [tensor("s", np.array([1 << 31, 1 << 31, 2]))])
    write(folder, "huge-tile", [node("Tile", ["x", "s"], ["y"])], [tensor("s", np.array([1 << 62]))])
    write(folder, "huge-pad", [node("Pad", ["x", "s"], ["y"])], [tensor("s", np.array([(1 << 63) - 1, (1 << 63) - 1]))])
    ends = [tensor("a", np.int64(0)), tensor("b", np.int64((1 << 63) - 1)), tensor("c", np.int64(1))]
    write(folder, "endless-range", [node("Range", ["a", "b", "c"], ["r"]), node("Cast", ["r"], ["f"], to=1), node("Add", ["x", "f"], ["y"])], ends)
    write(folder, "nul-name", [node("Relu", ["x"], ["a\0b"], name="\0\x01"), node("Foo", ["a\0b"], ["y"], name="\0")])
    write(folder, "divide-by-zero", [node("Div", ["n", "z"], ["d"]), node("Mod", ["d", "z"], ["m"]), node("Expand", ["x", "m"], ["y"])],
          [tensor("n", np.array([-(1 << 63)])), tensor("z", np.array([0]))])
    # Every function calls the one before twice.
    functions = [helper.make_function("local", "F0", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 17)])]
    for i in range(1, 31):
        calls = [node(f"F{i - 1}", ["a"], ["c"], domain="local"), node(f"F{i - 1}", ["c"], ["b"], domain="local")]
        functions.append(helper.make_function("local", f"F{i}", ["a"], ["b"], calls, [helper.make_opsetid("local", 1)]))
    write(folder, "doubling-calls", [node("F30", ["x"], ["y"], domain="local")], functions=functions)
    # A function that calls the next, and so on: as deep as code is written, deeper than anybody writes it, and in a circle.
    def chain_of_calls(count, last):
        bodies = [helper.make_function("local", f"F{i}", ["a"], ["b"], [node(f"F{i + 1}", ["a"], ["b"], domain="local")],
                                       [helper.make_opsetid("local", 1)]) for i in range(count)]
        return bodies + [helper.make_function("local", f"F{count}", ["a"], ["b"], [last], [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])]
    call = [node("F0", ["x"], ["y"], domain="local")]
    write(folder, "nested-calls", call, functions=chain_of_calls(400, node("Relu", ["a"], ["b"])))
    write(folder, "deep-calls", call, functions=chain_of_calls(20000, node("Relu", ["a"], ["b"])))
    write(folder, "mutual-recursion", call, functions=chain_of_calls(2, node("F1", ["a"], ["b"], domain="local")))
    # Large tables computed from each other.
    chain = [node("Range", ["a", "b", "c"], ["r0"])]
    for i in range(2000):
        chain += [node("Mul", [f"r{i}", f"r{i}"], [f"s{i}"]), node("CumSum", [f"s{i}", "a"], [f"r{i + 1}"])]
    chain += [node("Gather", ["r2000", "a"], ["e"]), node("Reshape", ["e", "one"], ["s"]), node("Expand", ["x", "s"], ["y"])]
    write(folder, "much-arithmetic", chain, [tensor("a", np.int64(0)), tensor("b", np.int64(1000000)), tensor("c", np.int64(1)), tensor("one", np.array([-1]))])
    # Ifs in Ifs.
    inner = [node("Relu", ["x"], ["o0"])]
    for i in range(90):
        graph = helper.make_graph(inner, f"g{i}", [], [helper.make_tensor_value_info(f"o{i}", TensorProto.FLOAT, None)])
        inner = [node("If", ["t"], [f"o{i + 1}"], then_branch=graph, else_branch=graph if i < 6 else helper.make_graph([], "e", [], []))]
        if i > 15:
            break
    write(folder, "nested-ifs", inner + [node("Identity", [inner[0].output[0]], ["y"])], [tensor("t", np.bool_(True))])
    large = [tensor("w", np.zeros((1, 4, 1), np.float32)), tensor("r", np.zeros((1, 4, 1), np.float32)), tensor("s", np.array([4096, 1, 1]))]
    unrolled = [node("Expand", ["x", "s"], ["h0"])]
    for i in range(100):
        unrolled += [node("LSTM", [f"h{i}", "w", "r"], [f"l{i}"], hidden_size=1), node("Squeeze", [f"l{i}", "one"], [f"h{i + 1}"])]
    write(folder, "much-unrolling", unrolled + [node("Relu", ["h100"], ["y"])], large + [tensor("one", np.array([1]))], shape=(1,))


if __name__ == "__main__":
    main()
