"""annotated.py MODEL ANNOTATED DEVICES STAGES: the second file is the first with the configuration "para", and nothing else is changed.

Every node has its stage (STAGES of them are used) and specs of its inputs and outputs; these name all devices of the stage once, in groups where
they hold the same shard; all of it passes the checker.
"""

import sys

import onnx


def devices_of(spec):
    groups = {entry.key: list(entry.value) for entry in spec.index_to_device_group_map}
    assert all(len(group) > 1 for group in groups.values()), spec
    return [groups.get(device, [device]) for device in spec.device]


def check(first, second, devices, stages):
    plain, model = onnx.load(first, load_external_data=False), onnx.load(second, load_external_data=False)
    onnx.checker.check_model(second)
    assert model.ir_version == max(plain.ir_version, 11), model.ir_version
    ours = model.configuration[0]
    assert (ours.name, ours.num_devices, len(ours.device)) == ("para", devices, devices), ours
    used, grouped, cut, missing = set(), 0, 0, []
    for node in model.graph.node:
        entry = node.device_configurations[0]
        assert entry.configuration_id == "para" and entry.HasField("pipeline_stage"), node
        used.add(entry.pipeline_stage)
        of_stage = [entry.pipeline_stage * (devices // stages) + i for i in range(devices // stages)]
        specs = {spec.tensor_name: spec for spec in entry.sharding_spec}
        assert set(specs) <= {*node.input, *node.output}, node
        missing += [name for name in (*node.input, *node.output) if name and name not in specs]
        for spec in specs.values():
            shards = 1
            for dim in spec.sharded_dim:
                for simple in dim.simple_sharding:
                    shards *= simple.num_shards
            holders = devices_of(spec)
            assert len(holders) == shards, spec
            assert sorted(sum(holders, [])) == of_stage, spec
            grouped += len(spec.index_to_device_group_map) > 0
            cut += shards > 1
        del node.device_configurations[:]
    assert used == set(range(stages)), used
    del model.configuration[:]
    model.ir_version = plain.ir_version
    assert model == plain, "more than annotations has changed"
    return cut, grouped, missing


if __name__ == "__main__":
    cut, grouped, missing = check(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    print(f"specs that cut: {cut}, with groups: {grouped}, left out: {len(missing)}")
