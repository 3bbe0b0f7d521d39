"""SHA256SUMS over every file of a release but the apt repository, which has its own."""

from __future__ import annotations

from hashlib import sha256

from release import DIST

NAME = "SHA256SUMS"
APART = {"apt", "work", NAME, f"{NAME}.minisig"}


def make() -> None:
    lines = []
    for path in sorted(DIST.rglob("*")):
        inside = path.relative_to(DIST)
        if path.is_file() and inside.parts[0] not in APART:
            lines.append(f"{sha256(path.read_bytes()).hexdigest()}  {inside}\n")
    (DIST / NAME).write_text("".join(lines))
