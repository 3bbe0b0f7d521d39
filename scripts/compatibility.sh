#!/usr/bin/env bash
# Writes docs/compatibility.md from the tests of the SDKs for Python and TypeScript, the bridge and the coding agents.
set -eu
. "$(dirname -- "$0")/lib.sh"

scripts/setup.sh core python typescript
build_program --quiet
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
(cd sdk/python && "$venv/bin/python" -m pytest --junit-xml "$reports/sdk.xml")
for folder in bridge agents; do
  "$venv/bin/python" -m pytest -c sdk/python/pyproject.toml --rootdir "tests/$folder" \
    --junit-xml "$reports/$folder.xml" "tests/$folder"
done
typescript_frameworks "$reports"
"$venv/bin/python" scripts/compatibility.py "$reports"/*.xml
