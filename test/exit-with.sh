#!/bin/sh
# exit-with.sh STATUS COMMAND...: runs the command; fails unless it exits with the status.
expected=$1
shift
"$@"
status=$?
[ "$status" -eq "$expected" ] || { echo "exit status $status instead of $expected: $*" >&2; exit 1; }
