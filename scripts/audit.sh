#!/bin/sh
# Licences, bans and sources of the Rust dependencies (deny.toml), the licences of npm's, and whether each brings a
# text or names its licence for the .deb.
# Python's are not looked at: no Python package is part of the console.
set -eu
. "$(dirname -- "$0")/lib.sh"

scripts/setup.sh core audit ui
say "Rust: licences, bans and sources"
cargo-deny --all-features check --hide-inclusion-graph licenses bans sources
say "npm: licences"
node scripts/npm-licences.mjs
say "texts of the licences"
"$venv/bin/python" scripts/notices.py dist/work/THIRD-PARTY-NOTICES
