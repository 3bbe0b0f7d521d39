#!/usr/bin/env bash
# Opens the console on its embedded default and starts the example agents
# beside it, so that cards arrive at once. Ctrl-C, or closing the window, ends
# all of it. Without a display the console runs headless and is followed here.
set -eu
. "$(dirname -- "$0")/lib.sh"

app=target/debug/countersign
scratch=$(mktemp -d)
children=()

# Ends what was started here, the last one first, each asked before it is forced.
finish() {
  trap - EXIT INT TERM
  local at pid
  for ((at = ${#children[@]} - 1; at >= 0; at--)); do
    pid=${children[at]}
    kill -TERM "$pid" 2>/dev/null || continue
    for _ in {1..50}; do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
  done
  rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then display=yes; else display=no; fi

if [ "$display" = yes ]; then
  scripts/setup.sh core ui python window
  say "building the page and the console (some minutes the first time)"
  (cd ui && npm run --silent build -- --logLevel warn)
  build_program --features countersign/gui
else
  scripts/setup.sh core python
  say "no display: building the console without its window"
  build_program
fi

# await WHAT PID COMMAND... until the command succeeds; fails when the process ends or after 30 s. A console
# that tells of an update of its store is waited for as long as it lives.
await() {
  local what=$1 pid=$2 left=300 told=no
  shift 2
  until "$@" >/dev/null 2>&1; do
    kill -0 "$pid" 2>/dev/null || {
      tail -5 "$scratch/console.log" >&2 2>/dev/null || true
      die "the console stopped before $what"
    }
    if grep -qs "updating the store" "$scratch/console.log"; then
      [ "$told" = yes ] || note "it updates its store first; this can take a while"
      told=yes
    else
      left=$((left - 1))
      [ "$left" -gt 0 ] || die "$what took longer than 30 s"
    fi
    sleep 0.1
  done
}

data=${COUNTERSIGN_DATA_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/countersign}

# The console writes runtime.json once it runs; before that nothing is asked of a folder that it is still filling.
connected() {
  [ -e "$data/runtime.json" ] || return 1
  "$app" status --json 2>/dev/null | "$venv/bin/python" -c '
import json, sys
sys.exit(not json.load(sys.stdin)["bus"]["connected"])' 2>/dev/null
}

# agent NAME COMMAND... runs an example under an identity of its own.
agent() {
  local name=$1
  shift
  "$app" enroll "${COUNTERSIGN_WORKSPACE:-default}/$name" --out "$scratch/$name" >/dev/null
  "$@" --agent-json "$scratch/$name/agent.json" >"$scratch/$name.log" 2>&1 &
  children+=($!)
  note "$name asks (its output: $scratch/$name.log)"
}

if [ -z "${COUNTERSIGN_NATS_URL:-}" ] && connected; then
  die "a console is already running on this data folder; stop it, or set COUNTERSIGN_DATA_DIR to another one"
fi

if [ "$display" = yes ]; then
  say "opening the window"
  "$app" 2> >(tee "$scratch/console.log" >&2) &
  console=$!
else
  say "no display: the console runs headless"
  "$app" serve >"$scratch/console.log" 2>&1 &
  console=$!
fi
children+=("$console")
await "its bus was up" "$console" connected

say "example agents"
agent selectools-agent "$venv/bin/python" examples/selectools-agent/agent.py
agent rust-agent target/debug/example-rust-agent

if [ "$display" = yes ]; then
  wait "$console"
else
  say "what happens, as it happens (in another terminal: $app inbox, $app approve ID, $app deny ID --message TEXT)"
  "$app" watch &
  children+=($!)
  wait "$!"
fi
