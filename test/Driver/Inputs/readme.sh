# readme.sh TOOLS ROOT FOLDER: runs the shell blocks of ROOT/README.md in the empty FOLDER, with para-opt of the folder TOOLS.
rm -rf "$3" && mkdir -p "$3" && cd "$3" || exit 1
"$2/.venv/bin/python" "$2/test/Driver/Inputs/blocks.py" "$2/README.md" > examples.sh || exit 1
PATH=$1:$2/.venv/bin:/usr/bin:/bin bash -eo pipefail examples.sh > log.txt 2>&1 && exit 0
tail -20 log.txt
exit 1
