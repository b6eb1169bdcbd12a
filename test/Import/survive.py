"""survive.py PARA_IMPORT_TEST FOLDER: imports each file of a folder within 10 seconds of the processor and one gigabyte.

The time is the importer's own: what else the machine does meanwhile does not count. An importer that waits for something would not use any,
and is ended after ten minutes.
"""

import os
import resource
import signal
import subprocess
import sys

SECONDS, BYTES = 10, 1 << 30


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))


def main():
    tool, folder = sys.argv[1:]
    files = sorted(os.listdir(folder))
    survived = 0
    for name in files:
        try:
            done = subprocess.run([tool, os.path.join(folder, name), "--quiet"], capture_output=True, timeout=600, preexec_fn=limit)
        except subprocess.TimeoutExpired:
            print(f"{name}: waited for ten minutes")
            continue
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            print(f"{name}: took more than {SECONDS} seconds of the processor")
            continue
        said = b"error:" in done.stderr
        good = (done.returncode == 0 and not said) or (done.returncode == 1 and said)
        survived += good
        print(f"{name[:-5]}: {('imported', 'refused')[done.returncode] if good else f'status {done.returncode} {done.stderr[-300:]}'}")
    print(f"{survived} files survived")
    sys.exit(survived != len(files))


if __name__ == "__main__":
    main()
