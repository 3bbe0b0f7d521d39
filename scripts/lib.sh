# Shared by the scripts beside it; source it after `set -eu`.
# Goes to the root of the checkout and leaves $root, $venv and the messages.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
# Below a coding agent the program refuses what decides; what a script starts is the developer's.
unset CLAUDECODE GEMINI_CLI CODEX_SANDBOX CURSOR_AGENT OPENCODE

say() { printf '\033[1m==>\033[0m %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }
die() {
  printf '%s: %s\n' "$(basename -- "$0")" "$*" >&2
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

if [ ! -t 1 ]; then
  say() { printf '==> %s\n' "$*"; }
fi

# Programs that set-up fetched for this checkout, before those of the machine.
PATH="$root/.setup/bin:$PATH"
export PATH

# rustup names a toolchain by version or by channel. A machine that cannot
# fetch toolchains may have the wanted version under another name only.
wanted_rust=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
if [ -z "${RUSTUP_TOOLCHAIN:-}" ] && ! rustc --version >/dev/null 2>&1 && have rustup; then
  for name in $(rustup toolchain list 2>/dev/null | cut -d' ' -f1); do
    if rustup run "$name" rustc --version 2>/dev/null | grep -q "^rustc $wanted_rust "; then
      RUSTUP_TOOLCHAIN=$name
      export RUSTUP_TOOLCHAIN
      break
    fi
  done
fi

venv="$root/.venv"

# Lints are made while compiling: as a step of its own clippy would check the whole workspace once more.
lints() { export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__; }

# build_program [ARGUMENT...] builds the program and the example agent just as `make test` does, so that neither compiles
# again what the other did: with the features that the whole workspace asks for, and with lints, as cargo keeps what is
# compiled without them apart. Another Rust than the pinned one may warn of more: there without.
build_program() (
  if have clippy-driver && [ "$(rustc --version | cut -d' ' -f2)" = "$wanted_rust" ]; then lints; fi
  cargo build --workspace --bin countersign --bin example-rust-agent "$@"
)

# typescript_frameworks FOLDER tests the gates of TypeScript's frameworks, each once: on the machine's Node.js, and on a
# newer one those that want it. The reports are for the page about compatibility.
typescript_frameworks() (
  cd sdk/typescript || exit
  junit() { printf -- '--reporter=default --reporter=junit --outputFile.junit=%s' "$1"; }
  # shellcheck disable=SC2046  # several words
  CI=1 npm run --silent test:frameworks -- $(junit "$1/typescript.xml") || exit
  newer=$(printf 'test/frameworks/%s.test.ts ' ai mastra guides killed)
  # shellcheck disable=SC2046,SC2086  # several words
  CI=1 COUNTERSIGN_FRAMEWORKS=newer "$root/.setup/node24/bin/node" node_modules/vitest/vitest.mjs run $newer \
    $(junit "$1/typescript24.xml")
)
