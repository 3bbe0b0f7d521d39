#!/bin/sh
# Renders icons/*.svg to the sizes that tauri.conf.json and the tray use.
# The results are committed, so nobody needs this until a drawing changes.
# Needs rsvg-convert (Debian: librsvg2-bin) and convert (Debian: imagemagick).
set -eu
cd "$(dirname "$0")/../icons"

command -v rsvg-convert >/dev/null || { echo "render-icons: rsvg-convert is missing: apt-get install librsvg2-bin" >&2; exit 1; }

render() { rsvg-convert --width "$2" --height "$2" --output "$3" "$1.svg"; }

render icon 32 32x32.png
render icon 128 128x128.png
render icon 256 128x128@2x.png
render icon 512 icon.png
render tray 32 tray.png
render tray-waiting 32 tray-waiting.png

# Windows reads its sizes from one file.
convert=${CONVERT:-convert}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for size in 16 24 32 48 64 256; do render icon "$size" "$tmp/$size.png"; done
"$convert" "$tmp/16.png" "$tmp/24.png" "$tmp/32.png" "$tmp/48.png" "$tmp/64.png" "$tmp/256.png" icon.ico
