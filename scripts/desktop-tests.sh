#!/usr/bin/env bash
# The tests in the real window: desktop-tests.sh [--built] [FILE...]
#
#   --built   the set-up is done and the binary is there
#
# Runs on a display of its own (Xvfb), never on the person's.
set -eu
. "$(dirname -- "$0")/lib.sh"

if [ "${1:-}" = --built ]; then
  shift
else
  scripts/setup.sh core ui python window desktop
  (cd ui && npm run --silent build)
  cargo build --quiet --package countersign --features countersign/gui
fi

scratch=$(mktemp -d)
xvfb=
trap 'if [ -n "$xvfb" ]; then kill "$xvfb" 2>/dev/null || true; wait "$xvfb" 2>/dev/null || true; fi; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# -displayfd picks a free display and writes its number once it accepts clients.
mkfifo "$scratch/display"
Xvfb -displayfd 3 -screen 0 1440x900x24 -nolisten tcp -noreset 3>"$scratch/display" 2>"$scratch/xvfb.log" &
xvfb=$!
read -r -t 20 number <"$scratch/display" || { cat "$scratch/xvfb.log" >&2; die "Xvfb did not start"; }

export DISPLAY=":$number"
unset WAYLAND_DISPLAY
# Without these two every launch leaves a session bus and an accessibility bus behind.
export DBUS_SESSION_BUS_ADDRESS=disabled: NO_AT_BRIDGE=1
export COUNTERSIGN_APP="${COUNTERSIGN_APP:-$root/target/debug/countersign}"
[ -x "$COUNTERSIGN_APP" ] || die "no application at $COUNTERSIGN_APP"

[ "$#" -gt 0 ] || set -- tests/desktop/*.test.mjs
node --test --test-reporter=spec "$@"
