"""interrupt.py PARA_OPT MODEL FOLDER: signals that come while --verify compiles, and while its ranks run, end para-opt by that signal and leave no file and no process."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

PARA, MODEL, FOLDER = sys.argv[1:]


def programs():
    """Command lines of processes that run out of the folder."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if FOLDER + "/" in text and "interrupt.py" not in text:
            found.append(text)
    return found


def obey():
    """Test tools are often started with signals ignored, which para-opt would leave so."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)


for stop, moment in ((signal.SIGINT, "compiling one rank"), (signal.SIGTERM, "running 2 ranks")):
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.mkdir(FOLDER)
    pathlib.Path(f"{FOLDER}.exe").unlink(missing_ok=True)
    command = [PARA, MODEL, "--train", "--dim", "batch=8", "--ranks", "2", "--plan=ddp", "--verify", "--progress=always", "-o", f"{FOLDER}.exe"]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": FOLDER}, preexec_fn=obey)
    for line in child.stderr:
        if f"verify: {moment}" in line:
            break
    assert os.listdir(FOLDER), "nothing is under way"
    child.send_signal(stop)
    child.stderr.read()
    status = child.wait(60)
    assert status == -stop, f"{stop} while {moment}: status {status}"
    deadline = time.monotonic() + 10
    while programs() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not programs(), programs()
    assert os.listdir(FOLDER) == [], os.listdir(FOLDER)
    assert not os.path.exists(f"{FOLDER}.exe")
os.rmdir(FOLDER)
