"""The machine on standard input with links between nodes of 0.125 GB/s a device."""
import json
import sys

machine = json.load(sys.stdin)
for devices in machine["devices"]:
    devices["levels"][-1]["bytes_per_second"] = 0.125e9
machine["name"] = "slow"
print(json.dumps(machine))
