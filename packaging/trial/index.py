"""Registries on the loopback address, inside of a trial's system: PyPI's simple index and npm's, as folders.

A static server is enough for both. It runs in the trial's own namespace, where nothing else can be reached.
"""

from __future__ import annotations

import base64
import json
import shutil
import tarfile
from hashlib import sha512
from pathlib import Path

from roots import DIST

PORT = 4873
ADDRESS = f"http://127.0.0.1:{PORT}"


def simple(folder: Path, wheels: Path) -> None:
    """An index of the wheels in a folder, by project."""
    for wheel in sorted(wheels.glob("*.whl")):
        project = wheel.name.split("-")[0].lower().replace("_", "-").replace(".", "-")
        place = folder / "simple" / project
        place.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(wheel, place / wheel.name)
    for place in (folder / "simple").iterdir():
        links = "".join(f'<a href="{wheel.name}">{wheel.name}</a>\n' for wheel in sorted(place.glob("*.whl")))
        (place / "index.html").write_text(f"<!DOCTYPE html><html><body>\n{links}</body></html>\n")


def npm(folder: Path, without: str = "") -> None:
    """A registry of the packages in `dist/npm`; `without` leaves one out."""
    for packed in sorted((DIST / "npm").glob("*.tgz")):
        with tarfile.open(packed) as archive:
            member = archive.extractfile("package/package.json")
            assert member is not None
            about = json.load(member)
        name, version = about["name"], about["version"]
        if name == without:
            continue
        digest = base64.b64encode(sha512(packed.read_bytes()).digest()).decode()
        about["dist"] = {"tarball": f"{ADDRESS}/{packed.name}", "integrity": f"sha512-{digest}"}
        listed = {"name": name, "dist-tags": {"latest": version}, "versions": {version: about}}
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(packed, folder / packed.name)
        (folder / name).write_text(json.dumps(listed))
