"""Lists of parts in CycloneDX: of each program, of the page, and in each the modules of nats-server."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from prefix import SERVER
from release import DIST, ROOT, WORK, PackError, epoch, git, run, version

SBOM = DIST / "sbom"
EDITIONS: dict[str, tuple[str, ...]] = {"headless": (), "window": ("--features", "gui")}
MODULE = re.compile(rb"^(?:mod|dep)\t(\S+)\t(v\S+)\t", re.MULTILINE)
# In place of the folder in which the list was made.
PLACE = "/countersign"


def make() -> None:
    shutil.rmtree(SBOM, ignore_errors=True)
    SBOM.mkdir(parents=True)
    source = manifests()
    for edition, features in EDITIONS.items():
        write(edition, {**of_program(source, features)}, modules())
    write("page", page(), [])


def manifests() -> Path:
    """A copy of the checkout's files: cargo-cyclonedx writes beside every manifest."""
    folder = WORK / "sbom"
    shutil.rmtree(folder, ignore_errors=True)
    for name in git("ls-files").splitlines():
        if (ROOT / name).is_file() and name.endswith((".toml", ".rs", ".lock")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def of_program(source: Path, features: tuple[str, ...]) -> dict[str, Any]:
    target = ("--target", "x86_64-unknown-linux-gnu")
    options = ("--format", "json", "--spec-version", "1.5", "--override-filename", "parts")
    run("cargo", "cyclonedx", *target, *options, *features, cwd=source)
    found = (source / "parts.json").read_text().replace(str(source), PLACE)
    listed: dict[str, Any] = json.loads(found)
    return listed


def modules() -> list[dict[str, str]]:
    found = sorted({(name.decode(), at.decode()) for name, at in MODULE.findall(SERVER.read_bytes())})
    if not found:
        raise PackError("nats-server does not say of which modules it is built")
    return [component(name, at, f"pkg:golang/{name}@{at}") for name, at in found]


def page() -> dict[str, Any]:
    packages = json.loads(run("npm", "query", ".prod", cwd=ROOT / "ui"))
    inside = sorted({(one["name"], one["version"]) for one in packages if one["location"]})
    parts = [component(name, at, f"pkg:npm/{name.replace('@', '%40')}@{at}") for name, at in inside]
    about = {"component": {"type": "application", "name": "countersign-page", "version": version()}}
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": about, "components": parts}


def component(name: str, at: str, purl: str) -> dict[str, str]:
    return {"type": "library", "bom-ref": purl, "name": name, "version": at, "purl": purl}


def write(name: str, listed: dict[str, Any], more: list[dict[str, str]]) -> None:
    commit = git("rev-parse", "HEAD")
    listed["serialNumber"] = f"urn:uuid:{uuid5(NAMESPACE_URL, f'countersign {commit} {name}')}"
    listed["metadata"]["timestamp"] = datetime.fromtimestamp(epoch(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    listed["components"] = [*listed["components"], *more]
    path = SBOM / f"countersign-{name}.cdx.json"
    path.write_text(json.dumps(listed, indent=1, sort_keys=True) + "\n")
