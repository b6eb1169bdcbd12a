"""The step of a pipeline whose order of microbatches is left open beside the orders given by hand: orders.py MODEL FLAG..."""
import json
import subprocess
import sys


def price(*flags):
    done = subprocess.run(["para-opt", sys.argv[1], "--train", "--json", *sys.argv[2:], *flags], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


best = price()
print("left open:", best["plan"]["schedule"])
names = ["gpipe", "1f1b", "interleaved:2", "interleaved:4", "zb-h1", "zb-h2", "zb-v"]
for name in names:
    seconds = price(f"--pipeline-schedule={name}")["seconds_per_step"]
    if best["seconds_per_step"] > seconds * (1 + 1e-9):
        print(f"slower than {name}: {best['seconds_per_step']} s, {seconds} s")
print("no slower than", ", ".join(names))
