#!/bin/sh
# Licences, bans and sources of the Rust dependencies (deny.toml), and the licences of npm's.
# Python's are not looked at: no Python package is part of the console.
set -eu
. "$(dirname -- "$0")/lib.sh"

scripts/setup.sh audit ui
say "Rust: licences, bans and sources"
cargo-deny --all-features check --hide-inclusion-graph licenses bans sources
say "npm: licences"
node scripts/npm-licences.mjs
