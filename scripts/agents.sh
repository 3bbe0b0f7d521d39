#!/usr/bin/env bash
# Coding agents from npm in front of a console, with models played on the loopback address (about 1 GB is downloaded).
set -eu
. "$(dirname -- "$0")/lib.sh"

packages=(@openai/codex@0.171.0 @google/gemini-cli@0.61.0 @github/copilot@1.0.102 opencode-ai@1.18.33)
folder="$root/.setup/agents"

scripts/setup.sh core python
say "npm: ${packages[*]}"
npm install --prefix "$folder" --no-audit --no-fund --ignore-scripts --silent "${packages[@]}"
node "$folder/node_modules/opencode-ai/postinstall.mjs"
build_program --quiet
COUNTERSIGN_AGENT_PROGRAMS="$folder" "$venv/bin/python" -m pytest -c sdk/python/pyproject.toml \
  --rootdir tests/agents tests/agents/test_programs.py tests/agents/test_beside_programs.py tests/agents/test_codex_trust.py
