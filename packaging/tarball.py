"""The tarball: one folder with the prefix, its sums and what installs it."""

from __future__ import annotations

from hashlib import sha256

import prefix
from release import DIST, PACKAGING, File, gz, tar, version


def make() -> None:
    name = f"countersign-{version()}-linux-x86_64"
    inside = {f"root/{path}": file for path, file in prefix.files("headless", "tarball").items()}
    sums = "".join(f"{sha256(file.content).hexdigest()}  {path}\n" for path, file in sorted(inside.items()))
    inside["SHA256SUMS"] = File(sums.encode())
    inside["install.sh"] = File((PACKAGING / "install.sh").read_bytes(), 0o755)
    archive = tar({f"{name}/{path}": file for path, file in inside.items()})
    (DIST / f"{name}.tar.gz").write_bytes(gz(archive))
