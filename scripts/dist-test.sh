#!/bin/sh
# Tries the packages of dist/ in fresh Debian systems: dist-test.sh [PART...]
#
# Parts: tarball wheel npm image deb rpm; without one, all of them. Wants root, for the systems are entered with
# namespaces and chroot, and the network for the systems themselves. The packages are tried without a network.
set -eu
. "$(dirname -- "$0")/lib.sh"

[ "$(id -u)" = 0 ] || die "fresh systems are made and entered as root: sudo make dist-test"
[ -f dist/SHA256SUMS ] || die "dist/SHA256SUMS is missing: run make dist first"
scripts/setup.sh roots
find_python=${PYTHON:-python3}
exec "$find_python" packaging/trial/trials.py "$@"
