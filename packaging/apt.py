"""The apt repository: static files for any web server, unsigned until `make dist-sign`."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime

from release import DIST, PackError, epoch, gz, run, version

SUITE = "dists/stable"
LISTS = f"{SUITE}/main/binary-amd64"


def make() -> None:
    package = DIST / f"countersign_{version()}_amd64.deb"
    if not package.is_file():
        raise PackError(f"{package.name} is missing: PARTS needs deb beside apt")
    folder = DIST / "apt"
    shutil.rmtree(folder, ignore_errors=True)
    pool = folder / "pool/main/c/countersign"
    pool.mkdir(parents=True)
    (folder / LISTS).mkdir(parents=True)
    shutil.copyfile(package, pool / package.name)
    packages = run("apt-ftparchive", "packages", "pool", cwd=folder).encode()
    (folder / LISTS / "Packages").write_bytes(packages)
    (folder / LISTS / "Packages.gz").write_bytes(gz(packages))
    release = {
        "Origin": "Countersign",
        "Label": "Countersign",
        "Suite": "stable",
        "Codename": "stable",
        "Architectures": "amd64",
        "Components": "main",
        "Description": "Countersign",
    }
    options = [f"-oAPT::FTPArchive::Release::{name}={value}" for name, value in release.items()]
    # Written beside the folder: a file of this name in it would be listed in itself.
    listed = run("apt-ftparchive", *options, "release", SUITE, cwd=folder)
    at = datetime.fromtimestamp(epoch(), UTC).strftime("%a, %d %b %Y %H:%M:%S UTC")
    lines = [f"Date: {at}" if line.startswith("Date: ") else line for line in listed.splitlines()]
    (folder / SUITE / "Release").write_text("\n".join(lines) + "\n")
    for path in folder.rglob("*"):
        os.utime(path, (epoch(), epoch()))
