"""Checks the sources: no op's class is named outside of lib/Ops, and no file is longer than 500 lines.

The classes are read from the families' .td files, so a new op is covered as it is. Prints what breaks a rule; exit status 1 if anything does.
"""

import pathlib
import re
import sys

LINES = 500
root = pathlib.Path(sys.argv[1])
sources = [path for folder in ("include", "lib", "runtime", "tools", "test", "python")
           for path in sorted((root / folder).rglob("*")) if path.suffix in {".cpp", ".h", ".td", ".c", ".py", ".mlir"} and "__pycache__" not in path.parts]
classes = {name for path in (root / "lib" / "Ops").rglob("*.td") for name in re.findall(r"^def Para_(\w+Op)\b", path.read_text(), re.MULTILINE)}
assert len(sources) > 100 and len(classes) > 40, (len(sources), len(classes))
named = re.compile(r"\b(?:para::)?(" + "|".join(sorted(classes)) + r")\b")
faults = 0
for path in sources:
    text = path.read_text()
    count = text.count("\n")
    if count > LINES:
        faults += 1
        print(f"{path.relative_to(root)}: {count} lines, more than {LINES}")
    if path.suffix not in {".cpp", ".h"} or not {"lib", "include", "tools"} & set(path.relative_to(root).parts[:1]) or "Ops" in path.relative_to(root).parts:
        continue
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        for match in named.finditer(code):
            # Upstream dialects have ops of the same names: arith::AddFOp is none of ours, math::ExpOp neither.
            if re.search(r"\b(arith|math|func|linalg|vector|scf|LLVM|rt|memref|tensor|gpu|index|cf)::$", code[: match.start()]):
                continue
            faults += 1
            print(f"{path.relative_to(root)}:{number}: names the op class {match[1]} outside of lib/Ops")
sys.exit(faults > 0)
