#!/usr/bin/env bash
# The tests in the real window: desktop-tests.sh [--built] [FILE...]
# The pictures of docs/screens:  desktop-tests.sh [--built] screens [STORY...]
#
#   --built   the set-up is done and the binary is there
#
# Two files at a time, each on a display of its own (Xvfb), never on the person's.
set -eu
. "$(dirname -- "$0")/lib.sh"

if [ "${1:-}" = --built ]; then
  shift
else
  scripts/setup.sh core ui python window desktop
  (cd ui && npm run --silent build)
  build_program --quiet --features countersign/gui
fi

export COUNTERSIGN_APP="${COUNTERSIGN_APP:-$root/target/debug/countersign}"
[ -x "$COUNTERSIGN_APP" ] || die "no application at $COUNTERSIGN_APP"

if [ "${1:-}" = screens ]; then
  shift
  exec node tests/desktop/screens.mjs "$@"
fi
tests() { node --test --test-reporter=spec "$@"; }
if [ "$#" -gt 0 ]; then
  tests --test-concurrency=2 "$@"
else
  mapfile -t files < <(find tests/desktop -name '*.test.mjs' ! -name pace.test.mjs | sort)
  tests --test-concurrency=2 "${files[@]}"
  # It judges the time that a frame takes: nothing runs beside it.
  tests tests/desktop/pace.test.mjs
fi
