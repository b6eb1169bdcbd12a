#!/usr/bin/env python3
"""Whether ptxas takes every kernel of every model's training step, for each GPU.

    test/Cuda/ptxas.py [--models mlp,gpt] [--recipes serial | all | ddp,zero1] [--ranks 2,3,4,8] [--arch sm_80,sm_90,sm_100]
                       [--precision f32] [--jobs N] [--kernels]

`serial` is the step of one rank, `all` that and the recipes of test/Execution/recipes.py. Kernels with equal code are one, whatever they
are called. Prints one line a model and GPU: programs compiled, distinct kernels, how many ptxas accepts, the most registers a thread
takes, the bytes that all spill and the kernel that spills most; then, of the machine code, instructions that load or store 16 bytes of
global memory at once, and those that take less. A line has failed, and the exit status is 1, where a program does not compile or has no
kernel, or a kernel is refused or spills.

`--kernels` adds a line for each kernel: loads of 16 bytes + of less, stores of 16 bytes + of less, and of each buffer of 64 KiB or more of
which it takes less at once the reason that --report=kernels gives. Machine code is counted by cuobjdump or nvdisasm (CUDA_HOME, or
PARA_CUDA_TOOLS, a folder); without, it is not. A model may be a file, too (--models gpt.onnx).
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Execution"))
import harness
import recipes

RECIPES = {"serial": lambda n: [], **recipes.RECIPES}

#: Kernels given to one run of ptxas.
BATCH = 100


#: A buffer of fewer bytes is not worth wide accesses.
LARGE = 1 << 16


def find_tool(name):
    folders = [os.environ.get("PARA_CUDA_TOOLS", ""), *(os.environ.get(v, "") + "/bin" for v in ("CUDA_HOME", "CUDA_PATH")), "/usr/local/cuda/bin"]
    for path in (shutil.which(name), *(f"{folder}/{name}" for folder in folders)):
        if path and os.access(path, os.X_OK):
            return path
    return None


def count_accesses(code):
    """{kernel: (wide loads, narrow ones, wide stores, narrow ones)}: instructions on global memory that take 16 bytes, and that take less, in
    what a disassembler says."""
    counts = {}
    for part in re.split(r"^\s*(?:Function : |\.text\.|//-+ \.text\.)", code, flags=re.M)[1:]:
        name = re.match(r"kernel_(\w+)", part)
        if name:
            counts[name[1]] = ()
            for kind in ("LDG", "STG"):
                accesses = re.findall(rf"\b{kind}\.E([.\w]*)", part)
                wide = sum(".128" in access or ".256" in access for access in accesses)
                counts[name[1]] += (wide, len(accesses) - wide)
    return counts


def disassemble(cubin):
    for tool, *flags in (("cuobjdump", "-sass"), ("nvdisasm", "-c")):
        path = find_tool(tool)
        if path:
            done = subprocess.run([path, *flags, cubin], capture_output=True, text=True, env={**os.environ, "PATH": f"{os.path.dirname(path)}:{os.environ['PATH']}"})
            if done.returncode == 0:
                return count_accesses(done.stdout)
    return {}


def split(ptx):
    """(head, {kernel: its PTX under a name made from its content}) of a file; tables come with the kernels that read them."""
    parts = re.split(r"^(?=\.visible \.entry |\t// \.globl)", ptx, flags=re.M)
    head = "".join(line + "\n" for line in parts[0].splitlines() if line.startswith((".version", ".target", ".address_size")))
    declarations = [line for part in parts for line in part.splitlines() if line.startswith((".extern", ".global"))]
    tables = {re.search(r"(\w+)\[", line)[1]: line for line in declarations}
    kernels = {}
    for part in parts:
        found = re.match(r"\.visible \.entry (\w+)\(", part)
        if not found:
            continue
        body = "\n".join(line for line in part.splitlines() if line.strip() and not line.lstrip().startswith("//") and line not in declarations)
        body = re.sub(r"\$L__BB\d+_", "$L__BB_", re.sub(r"__local_depot\d+", "__local_depot", body))
        body = re.sub(rf"\b{found[1]}(?=\b|_param_)", "KERNEL", body)
        used = []
        for name, line in tables.items():
            if re.search(rf"\b{name}\b", body):
                own = name if line.startswith(".extern") else "table_" + hashlib.sha256(line.replace(name, "").encode()).hexdigest()[:16]
                body = re.sub(rf"\b{name}\b", own, body)
                used.append(re.sub(rf"\b{name}\b", own, line))
        key = hashlib.sha256("\n".join(used + [body]).encode()).hexdigest()[:16]
        kernels[found[1]] = (key, body.replace("KERNEL", f"kernel_{key}"), used)
    return head, kernels


def assemble(ptxas, arch, head, kernels):
    """What ptxas says of kernels {key: (PTX, tables)}: {key: (registers, spilled bytes, accesses as counted or None)}, or {key: its
    complaint} of those it refuses."""
    tables = dict.fromkeys(line for _, used in kernels.values() for line in used)
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file, tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
        file.write("\n".join([head, *tables, *(body for body, _ in kernels.values())]) + "\n")
        file.flush()
        done = subprocess.run([ptxas, "-v", f"-arch={arch}", "-o", cubin.name, file.name], capture_output=True, text=True)
        accesses = {} if done.returncode else disassemble(cubin.name)
    if done.returncode and len(kernels) > 1:
        halves = [dict(list(kernels.items())[i::2]) for i in range(2)]
        return {**assemble(ptxas, arch, head, halves[0]), **assemble(ptxas, arch, head, halves[1])}
    if done.returncode:
        return {key: " | ".join(done.stderr.splitlines()[:3]) for key in kernels}
    found = {}
    for text in re.split(r"(?=Compiling entry function)", done.stderr)[1:]:
        spills = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", text)
        key = re.match(r"Compiling entry function 'kernel_(\w+)'", text)[1]
        found[key] = (int(re.search(r"Used (\d+) registers", text)[1]), int(spills[1]) + int(spills[2]) if spills else 0, accesses.get(key))
    return {key: found.get(key, "ptxas says nothing of it") for key in kernels}


class Table:
    def __init__(self, ptxas, arguments):
        self.ptxas, self.arguments = ptxas, arguments
        self.known = {}  # (GPU, key) -> what ptxas says, over all models
        self.made = {}  # (model, keys of the serial step) -> what compile() returns after the head
        self.pool = concurrent.futures.ThreadPoolExecutor(arguments.jobs)

    def programs(self):
        for recipe in list(RECIPES) if self.arguments.recipes == "all" else self.arguments.recipes.split(","):
            for ranks in [1] if recipe == "serial" else map(int, self.arguments.ranks.split(",")):
                flags = RECIPES[recipe](ranks)
                if flags is not None:
                    yield recipe if recipe == "serial" else f"{recipe} on {ranks} ranks", flags

    def emit(self, folder, arch, flags):
        command = [harness.PARA_OPT, str(folder if folder.is_file() else folder / "model.onnx"), "--train", "--target=cuda", "--emit=ptx", f"--arch={arch}", "-o", "-",
                   "--precision", self.arguments.precision, *harness.freeze_flags(folder), *flags]
        head, kernels = split(harness.call(command))
        if not kernels:
            raise harness.Failed("the program has no kernel")
        command = [word for word in command if word not in ("--emit=ptx", "-o", "-")]
        described = json.loads(harness.call([*command, "--report=kernels", "--json"]))["kernels"]
        return head, kernels, {f"{kernel['name']}_block": kernel for kernel in described}

    def compile(self, model, arch):
        """(head for the GPU, PTX of each distinct kernel, where it is, complaints, programs). GPUs for which the serial step has the
        same code, but for the head, share what is made for the first of them: code is what takes the time."""
        folder = pathlib.Path(model) if model.endswith(".onnx") else harness.SHARED / harness.MODELS[model]
        try:
            head, serial, _ = self.emit(folder, arch, [])
        except harness.Failed as error:
            return "", {}, {}, {}, [f"serial: {error}"], 1
        same = model, tuple(sorted(key for key, _, _ in serial.values()))
        if same not in self.made:
            code, where, facts, notes = {}, {}, {}, []
            programs = [(name, self.pool.submit(self.emit, folder, arch, flags)) for name, flags in self.programs()]
            for name, program in programs:
                try:
                    _, kernels, described = program.result()
                except harness.Failed as error:
                    notes.append(f"{name}: {error}")
                    continue
                for kernel, (key, body, used) in kernels.items():
                    code.setdefault(key, (body, used))
                    where.setdefault(key, f"{kernel} of {name}")
                    if kernel in described:
                        facts.setdefault(key, described[kernel])
            self.made[same] = code, where, facts, notes, len(programs)
        return head, *self.made[same]

    def row(self, model, arch):
        """Prints a model's line for one GPU; whether all is well."""
        head, code, where, facts, complaints, programs = self.compile(model, arch)
        fresh = [key for key in code if (arch, key) not in self.known]
        batches = [fresh[i : i + BATCH] for i in range(0, len(fresh), BATCH)]
        for result in [self.pool.submit(assemble, self.ptxas, arch, head, {key: code[key] for key in batch}) for batch in batches]:
            self.known.update({(arch, key): said for key, said in result.result().items()})
        said = {key: self.known[arch, key] for key in code}
        accepted = {key: figures for key, figures in said.items() if isinstance(figures, tuple)}
        notes = complaints + [f"{where[key]}: {text}" for key, text in said.items() if key not in accepted]
        worst = max(accepted, key=lambda key: accepted[key][1], default=None)
        spilled = sum(figures[1] for figures in accepted.values())
        text = f"{accepted[worst][1]} by {where[worst]} ({facts.get(worst, {}).get('family', 'scatter')})" if spilled else ""
        registers = max((figures[0] for figures in accepted.values()), default=0)
        counted = [figures[2] for figures in accepted.values() if figures[2]]
        wide, narrow = (sum(count[kind] + count[kind + 2] for count in counted) for kind in (0, 1))
        print(f"{model:<12} {arch:<8} {programs:>8} {len(code):>8} {len(accepted):>9} {registers:>10} {spilled:>8} {wide:>7} {narrow:>7}  {text}".rstrip(), flush=True)
        for note in notes:
            print(f"{'':<12}   {note}")
        if self.arguments.kernels:
            self.list_kernels(accepted, where, facts)
        return bool(accepted) and not notes and spilled == 0

    @staticmethod
    def list_kernels(accepted, where, facts):
        for key, (registers, _, accesses) in sorted(accepted.items(), key=lambda item: (len(where[item[0]].split()[0]), where[item[0]])):
            described = facts.get(key, {"family": "scatter", "buffers": []})
            counts = "not counted" if accesses is None else "loads {} + {}, stores {} + {}".format(*accesses)
            narrow = collections.Counter(buffer["narrow"] for buffer in described["buffers"] if buffer["minimal_bytes"] >= LARGE and buffer.get("narrow"))
            reasons = ", ".join(f"{count} large: {reason}" for reason, count in narrow.items())
            print(f"{'':<12}   {where[key]:<34} {described['family']:<13} {registers:>3} registers, {counts}{'; ' if reasons else ''}{reasons}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(harness.MODELS))
    parser.add_argument("--recipes", default="serial")
    parser.add_argument("--ranks", default="2,3,4,8")
    parser.add_argument("--arch", default="sm_80,sm_90,sm_100")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--kernels", action="store_true")
    arguments = parser.parse_args()
    harness.require_shared()
    ptxas = find_tool("ptxas")
    if not ptxas:
        print("SKIPPED: no ptxas")
        sys.exit(77)
    table = Table(ptxas, arguments)
    passed = failures = 0
    print(f"{'model':<12} {'GPU':<8} {'programs':>8} {'kernels':>8} {'accepted':>9} {'registers':>10} {'spilled':>8} {'wide':>7} {'narrow':>7}  most")
    for model in arguments.models.split(","):
        for arch in arguments.arch.split(","):
            well = table.row(model, arch)
            passed, failures = passed + well, failures + (not well)
    print(f"{passed} passed, {failures} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
