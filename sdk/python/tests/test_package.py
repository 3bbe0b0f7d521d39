"""What somebody has who is given the package and not the repository."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser

import pytest

from nats_server import REPOSITORY


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=REPOSITORY / "sdk/python", check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name", ["LICENSE-MIT", "LICENSE-APACHE"])
def test_wheel_and_source_carry_the_licence_texts_of_the_repository(built, name):
    text = (REPOSITORY / name).read_bytes()
    (wheel,), (source,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        (info,) = (entry for entry in archive.namelist() if entry.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(info).decode())
        assert name in metadata.get_all("License-File", [])
        assert archive.read(info.replace("METADATA", f"licenses/{name}")) == text
    with tarfile.open(source) as archive:
        member = archive.extractfile(f"{source.name.removesuffix('.tar.gz')}/{name}")
        assert member is not None
        assert member.read() == text


def test_its_description_links_nothing_that_only_the_repository_has(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (info,) = (entry for entry in archive.namelist() if entry.endswith(".dist-info/METADATA"))
        assert "](../" not in archive.read(info).decode()


NAMED = re.compile(r"countersign\[|(?<!apt )install\s+(?:-\S+\s+)*['\"]?countersign(?![\w./-])")


def test_nothing_names_the_package_of_other_people():
    folders = ["docs", "examples", "sdk", "src-tauri/src", "crates", "ui/src"]
    endings = {".md", ".rs", ".py", ".toml", ".ts", ".tsx", ".json", ".sh"}
    tracked = subprocess.run(
        ["git", "ls-files", "README.md", *folders], cwd=REPOSITORY, check=True, capture_output=True, text=True
    )
    files = [REPOSITORY / name for name in tracked.stdout.splitlines()]
    wrong = [
        f"{file.relative_to(REPOSITORY)}: {found[0]}"
        for file in files
        if file.suffix in endings and file.is_file() and "tests" not in file.parts
        for found in [NAMED.search(file.read_text(encoding="utf-8"))]
        if found
    ]
    assert not wrong, wrong
