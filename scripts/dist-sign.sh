#!/bin/sh
# Signs a release in dist/ with the keys that are given: DIST=dir MINISIGN_KEY=file GPG_KEY=id dist-sign.sh
#
# MINISIGN_KEY signs the sums, GPG_KEY the apt repository. Keys are neither made nor kept here.
set -eu
. "$(dirname -- "$0")/lib.sh"

dist=${DIST:-dist}
if [ -z "${MINISIGN_KEY:-}" ] && [ -z "${GPG_KEY:-}" ]; then
  printf 'dist-sign: no key: set MINISIGN_KEY=FILE, GPG_KEY=ID or both\n' >&2
  exit 2
fi
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
if [ -n "${MINISIGN_KEY:-}" ]; then
  have minisign || die "minisign is missing (package minisign)"
  [ -f "$dist/SHA256SUMS" ] || die "$dist/SHA256SUMS is missing: make dist makes it"
  minisign -S -s "$MINISIGN_KEY" -m "$dist/SHA256SUMS" -t "countersign $version"
  note "signed: $dist/SHA256SUMS.minisig"
fi
if [ -n "${GPG_KEY:-}" ]; then
  have gpg || die "gpg is missing (package gnupg)"
  suite=$dist/apt/dists/stable
  [ -f "$suite/Release" ] || die "$suite/Release is missing: make dist makes it"
  gpg --batch --yes --local-user "$GPG_KEY" --clearsign --output "$suite/InRelease" "$suite/Release"
  gpg --batch --yes --local-user "$GPG_KEY" --armor --detach-sign --output "$suite/Release.gpg" "$suite/Release"
  gpg --batch --yes --export --output "$dist/apt/countersign.gpg" "$GPG_KEY"
  note "signed: $suite/InRelease, $suite/Release.gpg; key: $dist/apt/countersign.gpg"
fi
