"""What somebody has who is given the package and not the repository."""

from __future__ import annotations

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
