#!/bin/sh
# Licences, bans and sources of every dependency: Rust (deny.toml) and npm.
set -eu
. "$(dirname -- "$0")/lib.sh"

scripts/setup.sh audit ui
say "Rust: licences, bans and sources"
cargo-deny --all-features check --hide-inclusion-graph licenses bans sources
say "npm: licences"
node scripts/npm-licences.mjs
