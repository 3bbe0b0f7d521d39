#!/bin/sh
# Installs Countersign from this folder, without root and without a network.
#
#   install.sh [--prefix DIR] [--unit]                 install or update
#   install.sh [--prefix DIR] --uninstall [--force]    remove; the data folder stays
#
#   --prefix DIR  where to [default: ~/.local, as root /usr/local]
#   --unit        also a systemd user unit, not enabled
#   --force       remove although a tool is still connected
set -eu
umask 022

die() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix='' unit=no uninstall=no force=no
while [ "$#" -gt 0 ]; do
  case $1 in
    --prefix) [ "$#" -ge 2 ] || die "--prefix needs a folder"; prefix=$2; shift ;;
    --prefix=*) prefix=${1#--prefix=} ;;
    --unit) unit=yes ;;
    --uninstall) uninstall=yes ;;
    --force) force=yes ;;
    -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) die "unknown word '$1' (--prefix DIR, --unit, --uninstall, --force)" ;;
  esac
  shift
done
if [ -z "$prefix" ]; then
  if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=${HOME:?}/.local; fi
fi
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
list=$prefix/lib/countersign/installed-files
program=$prefix/bin/countersign
unit_file=${XDG_CONFIG_HOME:-${HOME:-/root}/.config}/systemd/user/countersign.service

# Removes what a list names: files first, then the folders that were made for them, the deepest first.
remove() {
  sed -n 's/^f //p' "$1" | while IFS= read -r path; do rm -f "$prefix/$path"; done
  sed -n 's/^d //p' "$1" | LC_ALL=C sort -r | while IFS= read -r path; do rmdir "$prefix/$path" 2>/dev/null || :; done
}

if [ "$uninstall" = yes ]; then
  [ -f "$list" ] || die "nothing of this script is installed in $prefix; name its folder with --prefix"
  if [ "$force" = no ] && [ -x "$program" ]; then
    connected=$("$program" disconnect --all --dry-run 2>&1) \
      || die "what is connected could not be read; nothing was removed (--force removes all the same): $connected"
    [ -z "$connected" ] || die "these still call this program, and without it their calls run unasked:
$connected
first run: $program disconnect --all    (--force removes all the same; nothing was removed)"
  fi
  copy=$(mktemp)
  cp "$list" "$copy"
  if [ -f "$unit_file" ] && grep -qxF "ExecStart=\"$program\" serve" "$unit_file"; then rm -f "$unit_file"; fi
  rm -f "$list"
  remove "$copy"
  rm -f "$copy"
  printf 'removed from %s; your data folder stays\n' "$prefix"
  exit 0
fi

# Before anything is written: every byte is there, and the programs run on this system.
command -v sha256sum >/dev/null || die "sha256sum is missing (package coreutils); nothing was changed"
(cd "$here" && sha256sum --check --quiet SHA256SUMS >/dev/null 2>&1) \
  || die "a file of $here is missing or is not as it was made: unpack the archive again; nothing was changed"
for tool in root/bin/countersign root/lib/countersign/nats-server; do
  why=$("$here/$tool" --version 2>&1 >/dev/null) \
    || die "$tool does not run here: it needs Linux on x86_64 with glibc 2.28 or newer; nothing was changed
$why"
done

made=$(mktemp)
trap 'rm -f "$made"' EXIT
# make_folder PATH: below the prefix, and keeps which ones were not there.
make_folder() {
  [ "$1" = . ] && { mkdir -p "$prefix"; return; }
  [ -d "$prefix/$1" ] && return
  make_folder "$(dirname -- "$1")"
  mkdir "$prefix/$1"
  printf 'd %s\n' "$1" >>"$made"
}
# Each file appears whole, by rename; a console that runs keeps its old one.
put() {
  make_folder "$(dirname -- "$1")"
  cp "$here/root/$1" "$prefix/$1.new-$$"
  mv -f "$prefix/$1.new-$$" "$prefix/$1"
  printf 'f %s\n' "$1" >>"$made"
}
sed 's/^[0-9a-f]*  root\///' "$here/SHA256SUMS" | while IFS= read -r path; do
  [ "$path" = bin/countersign ] || put "$path"
done
put bin/countersign
printf 'f lib/countersign/installed-files\n' >>"$made"
if [ -f "$list" ]; then
  # Folders that an earlier version made are still ours; files of it that are no more go.
  grep '^d ' "$list" >>"$made" || :
  grep '^f ' "$list" | grep -vxF -f "$made" | sed 's/^f //' | while IFS= read -r path; do rm -f "$prefix/$path"; done
fi
LC_ALL=C sort -u "$made" >"$list.new-$$"
mv -f "$list.new-$$" "$list"

if [ "$unit" = yes ]; then
  mkdir -p "$(dirname -- "$unit_file")"
  sed "s|^ExecStart=.*|ExecStart=\"$program\" serve|" "$here/root/share/countersign/countersign.service" >"$unit_file"
  printf 'unit: %s; systemctl --user enable --now countersign starts it\n' "$unit_file"
fi
printf '%s in %s\n' "$("$program" -V)" "$program"
case ":${PATH:-}:" in
  *":$prefix/bin:"*) ;;
  *) printf 'not on PATH yet; add this line to ~/.profile: export PATH="%s/bin:%sPATH"\n' "$prefix" '$' ;;
esac
printf 'next: countersign serve, then in another terminal: countersign connect claude-code\n'
