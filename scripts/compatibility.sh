#!/usr/bin/env bash
# Writes docs/compatibility.md from the Python tests: those of the SDK, the bridge and the coding agents.
set -eu
. "$(dirname -- "$0")/lib.sh"

scripts/setup.sh core python
build_program --quiet
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
(cd sdk/python && "$venv/bin/python" -m pytest --junit-xml "$reports/sdk.xml")
for folder in bridge agents; do
  "$venv/bin/python" -m pytest -c sdk/python/pyproject.toml --rootdir "tests/$folder" \
    --junit-xml "$reports/$folder.xml" "tests/$folder"
done
"$venv/bin/python" scripts/compatibility.py "$reports"/*.xml
