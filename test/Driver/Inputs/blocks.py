"""Prints the shell blocks (```sh) of a Markdown file; fails if there are none."""
import re
import sys

blocks = re.findall(r"^```sh\n(.*?)^```", open(sys.argv[1]).read(), re.MULTILINE | re.DOTALL)
assert blocks, "no shell blocks"
print("set -x")
print("".join(blocks))
