#!/usr/bin/env bash
# Makes the packages of a release in dist/: dist.sh [PART...]
#
# Parts: tarball wheel npm image deb apt rpm sbom sums; without one, all of them. Builds the programs that they want:
# one with the window for deb and rpm, one without it for the rest.
set -eu
. "$(dirname -- "$0")/lib.sh"

all=(tarball wheel npm image deb apt rpm sbom sums)
parts=("$@")
[ "${#parts[@]}" -gt 0 ] || parts=("${all[@]}")
wants() {
  local part
  for part in "${parts[@]}"; do case " $* " in *" $part "*) return 0 ;; esac; done
  return 1
}
for part in "${parts[@]}"; do
  case " ${all[*]} " in *" $part "*) ;; *) die "unknown part '$part' (${all[*]})" ;; esac
done
[ "$(uname -sm)" = "Linux x86_64" ] || die "packages are made on Linux on x86_64"

target=x86_64-unknown-linux-gnu
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
COUNTERSIGN_COMMIT=$(git rev-parse --short=12 HEAD)
[ -z "$(git status --porcelain)" ] || COUNTERSIGN_COMMIT=$COUNTERSIGN_COMMIT+changes
export SOURCE_DATE_EPOCH COUNTERSIGN_COMMIT CARGO_INCREMENTAL=0
# Messages of tools that are read.
export LC_ALL=C.UTF-8 TZ=UTC

# step NAME COMMAND... prints how long it took.
step() {
  local name=$1 begun=$SECONDS
  shift
  say "$name"
  "$@"
  note "$name: $((SECONDS - begun)) s"
}

# The program's paths name neither this checkout nor this home, and it needs no newer C library than 2.28. The window's
# libraries are of this system and need a newer one: they are not looked into.
program() {
  local edition=$1 home=${CARGO_HOME:-$HOME/.cargo} separator=$'\037'
  shift
  CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$root=/countersign${separator}--remap-path-prefix=$home=/cargo${separator}-Clink-arg=-Wl,--allow-shlib-undefined" \
    CFLAGS="-ffile-prefix-map=$home=/cargo -ffile-prefix-map=$root=/countersign" PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 \
    cargo zigbuild --quiet --locked --release --package countersign --target "$target.2.28" "$@"
  mkdir -p "dist/work/$edition"
  cp "${CARGO_TARGET_DIR:-target}/$target/release/countersign" "dist/work/$edition/countersign"
}

# The page only when something of it is newer: else the window is linked as it was.
page() {
  [ -f ui/dist/index.html ] \
    && [ -z "$(find ui -path ui/node_modules -prune -o -path ui/dist -prune -o -type f -newer ui/dist/index.html -print -quit)" ] \
    && return
  npm --prefix ui run --silent build -- --logLevel warn
}

notices() { "$venv/bin/python" scripts/notices.py dist/work/THIRD-PARTY-NOTICES; }

setup=(core ui pack)
if wants deb rpm; then setup+=(window); fi
if wants sbom; then setup+=(parts); fi
step "set-up" scripts/setup.sh "${setup[@]}"
PATH="$root/.setup/packaging/bin:$PATH"
mkdir -p dist
if wants tarball wheel npm image deb rpm; then step "licences" notices; fi
if wants tarball wheel npm image; then step "program without the window" program headless; fi
if wants deb rpm; then
  step "page" page
  step "program with the window" program window --features gui
fi
step "packages" python packaging/pack.py "${parts[@]}"
say "in dist/"
(cd dist && find . -path ./work -prune -o -path ./apt -prune -o -type f -printf '%10s %P\n' | sort -k 2)
