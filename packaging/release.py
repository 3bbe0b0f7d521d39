"""What every package of a release has in common: version, time, folders, and archives that are the same each time."""

from __future__ import annotations

import gzip
import io
import os
import re
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGING = ROOT / "packaging"
DIST = ROOT / "dist"
WORK = DIST / "work"


class PackError(Exception):
    """Why a package is not made."""


@dataclass(frozen=True, slots=True)
class File:
    """Content of a file in a package and its mode. `target` makes it a link, `owner` is a numeric user and group."""

    content: bytes = b""
    mode: int = 0o644
    target: str = ""
    owner: int = 0
    folder: bool = False


Files = Mapping[str, File]


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def run(*command: str, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """Output of a tool; its errors are shown when it fails."""
    whole = {**os.environ, **(env or {})}
    try:
        done = subprocess.run(command, cwd=cwd, env=whole, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise PackError(f"{command[0]} is missing: scripts/setup.sh pack installs it") from error
    if done.returncode != 0:
        raise PackError(f"{' '.join(command[:3])} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def version() -> str:
    found = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    if found is None:
        raise PackError("Cargo.toml names no version")
    return found[1]


def epoch() -> int:
    """Seconds of the commit: the only time that is in a package."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct"))


def text(path: Path, **values: str) -> bytes:
    """A data file in which `@NAME@` is replaced."""
    content = path.read_text(encoding="utf-8")
    for name, value in values.items():
        content = content.replace(f"@{name}@", value)
    return content.encode()


def gz(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=9, mtime=0)


def tar(files: Files) -> bytes:
    """Sorted, with the folders above each file, one time and no names of owners."""
    whole: dict[str, File] = {}
    for name, file in files.items():
        parts = name.split("/")
        for depth in range(1, len(parts)):
            whole.setdefault("/".join(parts[:depth]), File(mode=0o755, folder=True))
        whole[name] = file
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in sorted(whole):
            file = whole[name]
            entry = tarfile.TarInfo(name)
            entry.mtime, entry.mode, entry.uid, entry.gid = epoch(), file.mode, file.owner, file.owner
            if file.folder:
                entry.type = tarfile.DIRTYPE
            elif file.target:
                entry.type, entry.linkname = tarfile.SYMTYPE, file.target
            else:
                entry.size = len(file.content)
            archive.addfile(entry, io.BytesIO(file.content))
    return out.getvalue()


def lay(files: Files, folder: Path) -> None:
    """Writes files below a folder that is made anew, each with the time of the commit."""
    run("rm", "-rf", str(folder))
    for name, file in sorted(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(file.mode)
        os.utime(path, (epoch(), epoch()))
