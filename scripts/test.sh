#!/usr/bin/env bash
# Every check there is: test.sh [headless]
#
#   headless   leaves out the window: its build, the page, the keychain and the desktop tests
#
# Stops at the first step that fails and names it. At the end it looks whether the
# tests left the person's own files alone, unless the person's own console runs.
set -eu
. "$(dirname -- "$0")/lib.sh"

scope=${1:-all}
case $scope in all | headless) ;; *) die "unknown scope '$scope'" ;; esac

started=$SECONDS
current=start
lanes=()
logs=()
# What the Python tests proved, for the page about compatibility.
reports=$(mktemp -d)
ended() {
  local code=$? lane
  # A lane has a process group of its own (set -m): its tests end with it. Interrupted first, because pytest then
  # prints what has failed so far.
  for lane in "${lanes[@]}"; do kill -INT -- "-$lane" 2>/dev/null || true; done
  for lane in "${lanes[@]}"; do
    timeout 20 tail --pid="$lane" -f /dev/null 2>/dev/null || true
    kill -- "-$lane" 2>/dev/null || true
  done
  [ "${#logs[@]}" = 0 ] || { cat "${logs[@]}"; rm -f "${logs[@]}"; }
  rm -rf "$reports"
  [ "$code" = 0 ] || printf "\n==> FAILED: %s (exit %s)\n" "$current" "$code" >&2
}
trap ended EXIT

# step NAME COMMAND... runs one step and prints how long it took.
step() {
  current=$1
  shift
  say "$current"
  local begun=$SECONDS
  "$@"
  note "$current: $((SECONDS - begun)) s"
  printf '%5d s  %s\n' "$((SECONDS - begun))" "$current" >>"$reports/times"
}

# beside COMMAND... runs a lane of steps next to the ones that follow; `joined` waits for all and prints what they printed.
# What waits for one thread (a large crate, a linker, a server) leaves the other core to it.
beside() {
  local log
  log=$(mktemp)
  set -m
  (
    trap '[ "$?" = 0 ] || printf "==> FAILED: %s\n" "$current"' EXIT
    set -e
    "$@"
  ) >"$log" 2>&1 &
  lanes+=("$!")
  logs+=("$log")
  set +m
}
joined() {
  local code=0
  while [ "${#lanes[@]}" -gt 0 ]; do
    wait "${lanes[0]}" || code=$?
    cat "${logs[0]}"
    rm -f "${logs[0]}"
    lanes=("${lanes[@]:1}")
    logs=("${logs[@]:1}")
    [ "$code" = 0 ] || { current="the steps beside it"; exit "$code"; }
  done
}

in_ui() { (cd ui && CI=1 npm run --silent "$@"); }
in_typescript() { (cd sdk/typescript && CI=1 npm run --silent "$@"); }
in_sdk() { (cd sdk/python && "$venv/bin/python" -m "$@"); }
# The SDK's tests whose files a pattern names.
shopt -s extglob
sdk_tests() { (cd sdk/python && "$venv/bin/python" -m pytest --junit-xml "$reports/$2.xml" tests/test_$1.py); }
# Those that load a framework take most of the time.
frameworks='@(adapters|claude|commonground|flexus|guide|inspect|kate|langgraph|openai|pydantic|ravi|selectools)*'
# Tests of the built program against stand-ins of other systems.
process_tests() {
  local folder=$1 report=$2
  shift 2
  "$venv/bin/python" -m pytest -c sdk/python/pyproject.toml --rootdir "tests/$folder" \
    --junit-xml "$reports/$report.xml" "$@"
}
# Python outside the SDK keeps to the SDK's settings.
python_folders=(docs examples packaging scripts sdk/python tests)
ruff() { "$venv/bin/python" -m ruff "$@" --config sdk/python/pyproject.toml "${python_folders[@]}"; }
types() {
  in_sdk mypy src tests
  "$venv/bin/python" -m mypy --config-file sdk/python/pyproject.toml \
    docs/*.py examples/*/*.py packaging/*.py packaging/trial/*.py scripts/*.py tests/desktop/agents/*.py
}

# What a person's own console keeps on this machine: tests must not touch it.
personal_files() {
  local home=${HOME:?}
  find "${XDG_DATA_HOME:-$home/.local/share}" "${XDG_CONFIG_HOME:-$home/.config}" \
    "${XDG_CACHE_HOME:-$home/.cache}" "${XDG_STATE_HOME:-$home/.local/state}" \
    -ipath '*countersign*' -printf '%p %s %T@\n' 2>/dev/null | LC_ALL=C sort || true
}

# Whether the person's own console runs: it holds its lock, and writes while the tests do.
own_console() {
  have flock || return 1
  local lock
  for lock in "${XDG_DATA_HOME:-${HOME:?}/.local/share}"/*countersign*/console.lock; do
    if [ -e "$lock" ] && ! flock --nonblock --shared "$lock" true; then return 0; fi
  done
  return 1
}

# Takes what the lanes beside it leave of the processor: it waits for nobody, they wait for servers and deadlines.
rust_docs() { RUSTDOCFLAGS=-Dwarnings nice -n 19 cargo doc --quiet --no-deps --workspace "${features[@]}"; }

# Everything that the later steps run, with one feature set.
rust_build() { cargo build --quiet --workspace --all-targets "${features[@]}"; }
lints

rust_tests() {
  if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --workspace "${features[@]}" --cargo-quiet
  else
    cargo test --quiet --workspace --all-targets "${features[@]}"
  fi
}

# Everything breaks for two minutes, in one order, so that two runs can be compared; `make chaos` draws another each time.
faults() {
  xtask chaos --built --seconds 120 --seed 454212
}

# As it was built with everything else: `cargo xtask` would compile half of its dependencies for a feature set of its own.
xtask() { target/debug/xtask "$@"; }
# The only crate with examples that a reader copies. With it the two packages that ask for the most features, so that
# its dependencies are those of the build.
rust_examples() { cargo test --quiet -p countersign-sdk -p countersign -p xtask "${features[@]}" --doc; }

npm_build() { in_ui build -- --logLevel warn; }

# One feature set for every step, so that nothing is compiled twice for another
# one. That the headless default needs no WebKit is a check of `tidy`.
if [ "$scope" = all ]; then features=(--features countersign/gui); else features=(); fi

beside=no
! own_console || beside=yes
before=$(personal_files)

# What the build needs; the rest is fetched while the compiler works. Without the page its packages come all the same:
# a test verifies webhooks with one.
if [ "$scope" = all ]; then
  step "set-up" scripts/setup.sh core ui window
else
  step "set-up" scripts/setup.sh core ui
fi

page_steps() {
  step "page: format" in_ui format:check
  step "page: types" in_ui typecheck
  step "page: lint" in_ui lint
  step "page: tests" in_ui test
}
python_checks() {
  step "Python: format" ruff format --quiet --check
  step "Python: lint" ruff check --quiet
  step "Python: types" types
}
first_lane() {
  if [ "$scope" = all ]; then
    step "set-up of tests" scripts/setup.sh python typescript languages desktop keychain
  else
    step "set-up of tests" scripts/setup.sh python typescript languages
  fi
  python_checks
  [ "$scope" = headless ] || page_steps
}

python_tests() {
  step "Python: tests" sdk_tests "!($frameworks)" sdk
  step "bridge: tests" process_tests bridge bridge tests/bridge
}
# Two files take half of the time of the coding agents' tests: they wait for limits.
agent_tests() {
  step "coding agents: tests" process_tests agents agents tests/agents \
    --ignore tests/agents/test_after_calls.py --ignore tests/agents/test_beside_programs.py
}
slow_agent_tests() {
  step "coding agents: tests that wait" process_tests agents slow-agents \
    tests/agents/test_after_calls.py tests/agents/test_beside_programs.py
}
typescript_lane() {
  step "TypeScript: build" in_typescript build
  step "TypeScript: format" in_typescript format:check
  step "TypeScript: types" in_typescript typecheck
  step "TypeScript: lint" in_typescript lint
  step "TypeScript: tests" in_typescript test
  step "TypeScript: tests of frameworks" typescript_frameworks "$reports"
}
docs_lane() { step "Rust docs" rust_docs; }
framework_tests() { step "Python: tests of frameworks" sdk_tests "$frameworks" frameworks; }

step "format" cargo fmt --all --check
# The window's build takes the page in.
[ "$scope" = headless ] || step "page: build" npm_build

beside first_lane
step "Rust build and lints" rust_build
step "tidy" xtask tidy
step "generated files" xtask codegen --check
joined

step "Rust tests" rust_tests
step "Rust examples in docs" rust_examples
# While the tests of one lane wait for a deadline or a program, those of the other work.
beside agent_tests
beside slow_agent_tests
beside python_tests
beside framework_tests
beside typescript_lane
step "faults under load" faults
joined
step "compatibility page" "$venv/bin/python" scripts/compatibility.py --check "$reports"/*.xml
# The window waits for frames: the documents take what it leaves.
beside docs_lane
[ "$scope" = headless ] || step "real window" scripts/desktop-tests.sh --built
joined

current="tests left the person's own files alone"
after=$(personal_files)
if [ "$beside" = yes ] || own_console; then
  note "your own console is running and writes its files: whether the tests touched them was not checked"
elif [ "$before" != "$after" ]; then
  diff <(printf '%s\n' "$before") <(printf '%s\n' "$after") >&2 || true
  note "if your own console ran in between, these are its changes: run this again without it" >&2
  exit 1
fi

say "all passed in $((SECONDS - started)) s; the steps, some beside others:"
sort -rn "$reports/times"
