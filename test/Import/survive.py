"""survive.py PARA_IMPORT_TEST FOLDER: imports each file of a folder within 10 seconds and one gigabyte."""

import os
import resource
import subprocess
import sys


def main():
    tool, folder = sys.argv[1:]
    files = sorted(os.listdir(folder))
    survived = 0
    for name in files:
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        try:
            done = subprocess.run([tool, os.path.join(folder, name), "--quiet"], capture_output=True, timeout=10, preexec_fn=limit)
        except subprocess.TimeoutExpired:
            print(f"{name}: took too long")
            continue
        said = b"error:" in done.stderr
        good = (done.returncode == 0 and not said) or (done.returncode == 1 and said)
        survived += good
        print(f"{name[:-5]}: {('imported', 'refused')[done.returncode] if good else f'status {done.returncode} {done.stderr[-300:]}'}")
    print(f"{survived} files survived")
    sys.exit(survived != len(files))


if __name__ == "__main__":
    main()
