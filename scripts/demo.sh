#!/bin/sh
# The whole round once, without a person and without a display (scripts/demo.py).
set -eu
. "$(dirname -- "$0")/lib.sh"

scripts/setup.sh core python
say "building the console (without the window)"
build_program --quiet
say "demo"
exec "$venv/bin/python" scripts/demo.py --countersign target/debug/countersign
