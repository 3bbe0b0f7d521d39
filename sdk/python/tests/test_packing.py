"""`packaging/`: archives that are the same each time, and `install.sh` with a stand-in for the program."""

from __future__ import annotations

import importlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest

from nats_server import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "packaging"))
release = importlib.import_module("release")
sys.path.pop(0)

PROGRAM = """#!/bin/sh
case "$*" in
  "disconnect --all --dry-run") cat "$HOME/connected" 2>/dev/null ;;
  -V) echo "countersign 0.0.1" ;;
esac
exit 0
"""


@pytest.fixture
def unpacked(tmp_path):
    """A tarball's folder, as `make dist` lays it, with a program of a few lines."""
    folder = tmp_path / "countersign-0.0.1-linux-x86_64"
    root = {
        "bin/countersign": PROGRAM,
        "lib/countersign/nats-server": PROGRAM,
        "lib/countersign/installed-by": "tarball\n",
        "share/countersign/countersign.service": "[Service]\nExecStart=/usr/bin/countersign serve\n",
    }
    sums = []
    for name, text in root.items():
        file = folder / "root" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755 if text == PROGRAM else 0o644)
        sums.append(f"{sha256(text.encode()).hexdigest()}  root/{name}\n")
    (folder / "SHA256SUMS").write_text("".join(sums))
    shutil.copy(REPOSITORY / "packaging/install.sh", folder)
    return folder


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "a home"
    folder.mkdir()
    return folder


def install(unpacked: Path, home: Path, *words: str, code: int = 0) -> str:
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    command = [str(unpacked / "install.sh"), "--prefix", str(home / "pre fix"), *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_what_is_installed_is_removed_again_and_nothing_else(unpacked, home):
    mine = home / "pre fix/lib/mine"
    mine.parent.mkdir(parents=True)
    mine.write_text("x")
    said = install(unpacked, home, "--unit")
    assert "not on PATH" in said
    program = home / "pre fix/bin/countersign"
    assert os.access(program, os.X_OK)
    assert not program.is_symlink()
    unit = home / ".config/systemd/user/countersign.service"
    assert f'ExecStart="{program}" serve' in unit.read_text()
    install(unpacked, home)
    install(unpacked, home, "--uninstall")
    assert files(home / "pre fix") == {"lib", "lib/mine"}
    assert not unit.exists()
    assert "nothing" in install(unpacked, home, "--uninstall", code=1)


def test_an_update_removes_what_the_newer_version_lacks(unpacked, home):
    install(unpacked, home)
    sums = (unpacked / "SHA256SUMS").read_text().splitlines(keepends=True)
    (unpacked / "SHA256SUMS").write_text("".join(line for line in sums if "installed-by" not in line))
    install(unpacked, home)
    assert "lib/countersign/installed-by" not in files(home / "pre fix")
    assert "lib/countersign/nats-server" in files(home / "pre fix")


def test_a_connected_tool_keeps_the_program_there(unpacked, home):
    install(unpacked, home)
    (home / "connected").write_text("/home/ada/.claude/settings.json: claude-code is connected\n")
    said = install(unpacked, home, "--uninstall", code=1)
    assert "disconnect --all" in said
    assert "claude-code is connected" in said
    install(unpacked, home, "--uninstall", "--force")
    assert not (home / "pre fix/bin").exists()


@pytest.mark.parametrize("harm", ["changed", "missing", "broken"])
def test_nothing_is_written_where_a_file_is_wrong_or_the_program_does_not_run(unpacked, home, harm):
    program = unpacked / "root/bin/countersign"
    if harm == "changed":
        program.write_text(PROGRAM + "# changed\n")
    elif harm == "missing":
        (unpacked / "root/lib/countersign/installed-by").unlink()
    else:
        text = "#!/bin/sh\necho 'GLIBC_2.28 not found' >&2\nexit 1\n"
        old = sha256(program.read_bytes()).hexdigest()
        program.write_text(text)
        sums = unpacked / "SHA256SUMS"
        # The line of the program alone: nats-server's stand-in has the same bytes.
        new = f"{sha256(text.encode()).hexdigest()}  root/bin"
        sums.write_text(sums.read_text().replace(f"{old}  root/bin", new))
    said = install(unpacked, home, code=1)
    assert "nothing was changed" in said
    assert harm != "broken" or "GLIBC_2.28" in said
    assert not (home / "pre fix").exists()


def test_a_shell_of_any_kind_reads_the_scripts_that_are_shipped():
    scripts = [
        str(REPOSITORY / "packaging" / name) for name in ("install.sh", "wheel/countersign-desk", "trial/round.sh")
    ]
    done = subprocess.run(["shellcheck", "--shell=sh", *scripts], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_archives_are_the_same_each_time_and_name_no_one(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    inside = {"b/run": release.File(b"x", 0o755), "a": release.File(b"y"), "data": release.File(folder=True, owner=7)}
    packed = release.gz(release.tar(inside))
    assert packed == release.gz(release.tar(dict(reversed(inside.items()))))
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == ["a", "b", "b/run", "data"]
    assert {(member.mtime, member.uname, member.gname) for member in members} == {(1700000000, "", "")}
    assert [member.uid for member in members] == [0, 0, 0, 7]


def test_commands_of_the_documents_name_the_version_that_is_built():
    version = release.version()
    for name in ("README.md", "docs/install.md", "sdk/python/README.md"):
        text = (REPOSITORY / name).read_text()
        for word in (
            "countersign_",
            "countersign-desk-",
            "countersign_sdk-",
            "countersign_desk-",
            "countersign-sdk-",
        ):
            for piece in text.split(word)[1:]:
                assert not piece[0].isdigit() or piece.startswith(version), f"{name}: {word}{piece[:20]}"
