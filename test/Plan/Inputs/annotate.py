"""annotate.py CASE MODEL: writes a small annotated model.

x [8, 4] -> up (w1 [4, 12]) -> act -> down (w2 [12, 4]) -> y. CASES says how each is placed.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPES = {"x": 2, "w1": 2, "h": 2, "a": 2, "w2": 2, "y": 2}


def make():
    rng = np.random.default_rng(3)
    weights = [numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name) for name, shape in (("w1", (4, 12)), ("w2", (12, 4)))]
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["h"], "up"), helper.make_node("Relu", ["h"], ["a"], "act"), helper.make_node("MatMul", ["a", "w2"], ["y"], "down")]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 4])
    graph = helper.make_graph(nodes, "g", [value("x")], [value("y")], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=11)


def configure(model, devices, name="c", names=()):
    entry = model.configuration.add()
    entry.name, entry.num_devices = name, devices
    entry.device.extend(names)


def of(model, node, configuration="c"):
    """The annotation of a node."""
    found = next(n for n in model.graph.node if n.name == node)
    for entry in found.device_configurations:
        if entry.configuration_id == configuration:
            return entry
    entry = found.device_configurations.add()
    entry.configuration_id = configuration
    return entry


def shard(model, node, tensor, devices, *dims):
    """A list in `devices` is a group; a dim is (axis, shards) or (axis, [(size, shards), ...])."""
    spec = of(model, node).sharding_spec.add()
    spec.tensor_name = tensor
    for i, device in enumerate(devices):
        if isinstance(device, list):
            group = spec.index_to_device_group_map.add()
            group.key = -1 - i
            group.value.extend(device)
            device = group.key
        spec.device.append(device)
    for axis, parts in dims:
        dim = spec.sharded_dim.add()
        dim.axis = axis
        for size, shards in parts if isinstance(parts, list) else [(0, parts)]:
            simple = dim.simple_sharding.add()
            if size:
                simple.dim_value = size
            simple.num_shards = shards
    return spec


def stages(model, *numbers):
    for node, stage in zip(("up", "act", "down"), numbers):
        if stage is not None:
            of(model, node).pipeline_stage = stage


def megatron(model):
    """tensor = 2: columns, then rows; what comes and goes is whole."""
    configure(model, 2)
    both = [[0, 1]]
    shard(model, "up", "x", both)
    shard(model, "up", "w1", [0, 1], (1, 2))
    shard(model, "up", "h", [0, 1], (-1, 2))
    shard(model, "act", "a", [0, 1], (1, 2))
    shard(model, "down", "w2", [0, 1], (0, 2))
    shard(model, "down", "y", both)


def grid(model):
    """data = 2 and tensor = 2: each half of the batch on two devices, each half of a weight on every second one."""
    configure(model, 4)
    shard(model, "up", "x", [[0, 1], [2, 3]], (0, 2))
    shard(model, "up", "w1", [[0, 2], [1, 3]], (1, 2))
    shard(model, "up", "h", [0, 1, 2, 3], (0, 2), (1, 2))
    shard(model, "down", "w2", [[0, 2], [1, 3]], (0, 2))
    shard(model, "down", "y", [[0, 1], [2, 3]], (0, 2))


def contrary(model):
    """The axis of a weight outermost, that of the batch innermost: weights are cut over para's axis of the batch."""
    configure(model, 4)
    shard(model, "up", "x", [[0, 2], [1, 3]], (0, 2))
    shard(model, "up", "w1", [[0, 1], [2, 3]], (1, 2))
    shard(model, "down", "y", [[0, 2], [1, 3]], (0, 2))


def batch(model):
    configure(model, 4)
    shard(model, "up", "x", [0, 1, 2, 3], (0, 4))


def units(model):
    """Four groups of three columns are too few for eight devices, but two are enough for two."""
    configure(model, 2)
    shard(model, "up", "w1", [0, 1], (1, [(4, 2), (3, 1)]))


def blocks(model):
    """Each of three blocks of four columns is cut by itself."""
    configure(model, 2)
    shard(model, "up", "w1", [0, 1], (1, [(3, 1), (4, 2)]))


def pipeline(model):
    configure(model, 4)
    stages(model, 1, None, 2)  # numbers may begin with 1
    shard(model, "up", "x", [0, 1], (0, 2))
    shard(model, "down", "w2", [[2, 3]])


def staged(model):
    configure(model, 2)
    stages(model, 0, 0, 1)


def several(model):
    configure(model, 2, "two")
    configure(model, 3, "three")
    configure(model, 2, "other")
    of(model, "down", "two").pipeline_stage = 1
    of(model, "up", "two").pipeline_stage = 0


def named(model):
    """Nothing is cut, so that only the devices' names tell the mesh."""
    configure(model, 4, names=[f"pipeline=0,data={d},tensor={t}" for d in range(2) for t in range(2)])
    shard(model, "up", "w1", [[0, 1, 2, 3]])


def plain(model):
    """No annotation."""


def invalid(change, devices=2):
    def case(model):
        configure(model, devices)
        change(model)

    return case


def twice(model):
    shard(model, "up", "w1", [0, 1], (1, 2))
    shard(model, "up", "w1", [0, 1], (0, 2))


def crossed(model):
    """Of a 2 x 2 mesh whose first axis is innermost, and of one whose first axis is outermost, at once."""
    shard(model, "up", "x", [[0, 3], [1, 2]], (0, 2))


def contradictory(model):
    """One tensor wants a mesh of 2 x 3, another one of 3 x 2."""
    shard(model, "up", "x", [[0, 1, 2], [3, 4, 5]], (0, 2))
    shard(model, "down", "w2", [[0, 1], [2, 3], [4, 5]], (0, 3))


def unlike(model):
    """`up` leaves h cut by columns; `act` is to take it cut by rows, which no other spec brings about."""
    shard(model, "up", "h", [0, 1], (1, 2))
    shard(model, "act", "h", [0, 1], (0, 2))
    shard(model, "act", "a", [0, 1], (1, 2))


CASES = {
    "megatron": megatron, "grid": grid, "contrary": contrary, "batch": batch, "units": units, "blocks": blocks, "pipeline": pipeline, "staged": staged, "several": several,
    "named": named, "plain": plain,
    "no-devices": lambda m: configure(m, 0),
    "many-devices": lambda m: configure(m, 2**31 - 1),
    "names": lambda m: configure(m, 3, names=["a", "b"]),
    "same-name": lambda m: (configure(m, 2), configure(m, 2)),
    "unknown-configuration": lambda m: (configure(m, 2), of(m, "up", "none")),
    "unknown-tensor": invalid(lambda m: shard(m, "up", "w2", [0, 1], (0, 2))),
    "twice": invalid(twice),
    "negative-stage": invalid(lambda m: stages(m, -1, 0, 0)),
    "large-stage": invalid(lambda m: stages(m, 0, 1, 2)),
    "gap": invalid(lambda m: stages(m, 0, 2, 2), 4),
    "back": invalid(lambda m: stages(m, 1, 1, 0)),
    "odd-stages": invalid(lambda m: stages(m, 0, 0, 1), 3),
    "axis": invalid(lambda m: shard(m, "up", "w1", [0, 1], (2, 2))),
    "negative-axis": invalid(lambda m: shard(m, "up", "w1", [0, 1], (-3, 2))),
    "axis-twice": invalid(lambda m: shard(m, "up", "w1", [0, 1], (1, 2), (-1, 1))),
    "few-devices": invalid(lambda m: shard(m, "up", "w1", [0, 1], (1, 3))),
    "device": invalid(lambda m: shard(m, "up", "w1", [0, 2], (1, 2))),
    "device-twice": invalid(lambda m: shard(m, "up", "w1", [[0, 1], 1], (1, 2))),
    "empty-group": invalid(lambda m: shard(m, "up", "w1", [[], 1], (1, 2))),
    "missing-device": invalid(lambda m: shard(m, "up", "w1", [0, 1], (1, 2)), 3),
    "other-stage": invalid(lambda m: (stages(m, 0, 0, 1), shard(m, "down", "w2", [0]))),
    "size": invalid(lambda m: shard(m, "up", "w1", [0, 1], (1, [(10, 2)]))),
    "negative-size": invalid(lambda m: shard(m, "up", "w1", [0, 1], (1, [(-12, 2)]))),
    "factors": invalid(lambda m: shard(m, "up", "w1", [0, 1], (1, [(5, 2), (3, 1)]))),
    "huge-factors": invalid(lambda m: shard(m, "up", "w1", [0, 1], (1, [(2**62, 1), (2**62, 1), (12, 2)]))),
    "two-factors": invalid(lambda m: shard(m, "up", "w1", [0, 1, 2, 3], (1, [(4, 2), (3, 2)])), 4),
    "no-shards": invalid(lambda m: shard(m, "up", "w1", [0, 1], (1, 0))),
    "huge-shards": invalid(lambda m: shard(m, "up", "w1", [0, 1], (1, 2**62), (0, 2**62))),
    "crossed": invalid(crossed, 4),
    "contradictory": invalid(contradictory, 6),
    "unlike": invalid(unlike),
}


def main():
    model = make()
    CASES[sys.argv[1]](model)
    onnx.checker.check_model(model)
    with open(sys.argv[2], "wb") as file:
        file.write(model.SerializeToString())


if __name__ == "__main__":
    main()
