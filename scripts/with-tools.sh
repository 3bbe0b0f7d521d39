#!/bin/sh
# Runs a command with the tools that set-up fetched: with-tools.sh COMMAND [ARGUMENT...]
set -eu
. "$(dirname -- "$0")/lib.sh"
exec "$@"
