"""Tries the packages in `dist/` as a person would: trials.py [PART...]"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import sha256

import try_deb
import try_image
import try_npm
import try_rpm
import try_tarball
import try_wheel
from roots import DEBIANS, DIST, TrialError

MIB = 2**20
# Upper sizes in MiB, by pattern.
SIZES = {
    "*.deb": 40.0,
    "*.rpm": 45.0,
    "countersign-*-linux-x86_64.tar.gz": 45.0,
    "countersign-*-image-*.tar.gz": 45.0,
    "pypi/countersign_desk-*.whl": 40.0,
    "npm/countersign-desk-linux-x64-*.tgz": 45.0,
    "npm/countersign-desk-[0-9]*.tgz": 0.1,
    "pypi/countersign_sdk-*": 1.0,
    "npm/countersign-sdk-*.tgz": 1.0,
}
BOTH: tuple[str, ...] = DEBIANS
ONE: tuple[str, ...] = DEBIANS[:1]
TRIALS: dict[str, tuple[Callable[[str], None], tuple[str, ...]]] = {
    "tarball": (try_tarball.trial, BOTH),
    "image": (try_image.trial, ONE),
    "rpm": (try_rpm.trial, ONE),
    "wheel": (try_wheel.trial, BOTH),
    "npm": (try_npm.trial, BOTH),
    "deb": (try_deb.trial, BOTH),
}


def sizes() -> None:
    for pattern, most in SIZES.items():
        for path in sorted(DIST.glob(pattern)):
            size = path.stat().st_size / MIB
            print(f"    {size:6.2f} MiB  {path.relative_to(DIST)}")
            if size > most:
                raise TrialError(f"{path.name} has {size:.2f} MiB, at most {most:g}")


def sums() -> None:
    for line in (DIST / "SHA256SUMS").read_text().splitlines():
        digest, _, name = line.partition("  ")
        if sha256((DIST / name).read_bytes()).hexdigest() != digest:
            raise TrialError(f"{name} is not what SHA256SUMS lists")


def main() -> int:
    wanted = sys.argv[1:] or list(TRIALS)
    unknown = set(wanted) - set(TRIALS)
    if unknown:
        print(f"trials: unknown part {' '.join(sorted(unknown))}; there are {' '.join(TRIALS)}", file=sys.stderr)
        return 2
    failed = 0
    passed = 0

    def one(name: str, see: Callable[[], None]) -> None:
        nonlocal failed, passed
        begun = time.monotonic()
        print(f"==> {name}", flush=True)
        try:
            see()
            passed += 1
            print(f"    {name}: {time.monotonic() - begun:.0f} s", flush=True)
        except (TrialError, OSError, subprocess.SubprocessError) as why:
            failed += 1
            print(f"    FAILED {name}: {why}", flush=True)

    one("sizes", sizes)
    one("sums", sums)
    for name, (trial, debians) in TRIALS.items():
        for debian in debians if name in wanted else ():
            one(f"{name} {debian}", lambda: trial(debian))  # noqa: B023
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
