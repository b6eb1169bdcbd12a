#!/bin/sh
# Runs a command with at most a gigabyte.
ulimit -v 1048576
exec "$@"
