"""Makes the parts of a release in `dist/` from programs that are built: pack.py PART..."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import apt
import image
import native
import npm
import sbom
import sums
import tarball
import wheel
from release import DIST, PackError


def deb() -> None:
    native.make("deb")


def rpm() -> None:
    native.make("rpm")


# In the order in which one needs another.
PARTS: dict[str, Callable[[], None]] = {
    "tarball": tarball.make,
    "wheel": wheel.make,
    "npm": npm.make,
    "image": image.make,
    "deb": deb,
    "apt": apt.make,
    "rpm": rpm,
    "sbom": sbom.make,
    "sums": sums.make,
}


def size(path: Path) -> int:
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def main() -> int:
    wanted = sys.argv[1:]
    unknown = set(wanted) - set(PARTS)
    if unknown or not wanted:
        print(f"pack: unknown part {' '.join(sorted(unknown))}; there are {' '.join(PARTS)}", file=sys.stderr)
        return 2
    DIST.mkdir(exist_ok=True)
    for name, make in PARTS.items():
        if name not in wanted:
            continue
        begun = time.monotonic()
        try:
            make()
        except PackError as why:
            print(f"pack: {name}: {why}", file=sys.stderr)
            return 1
        print(f"    {name}: {time.monotonic() - begun:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
