#!/bin/sh
# small-disk.sh KIB COMMAND...: runs the command, none of whose files may grow beyond so many KiB. Writes fail then, as on a full disk.
trap '' XFSZ
limit=$1
shift
ulimit -f $((limit * 2))
exec "$@"
