"""PyPI's files: the program as a wheel, and the SDK."""

from __future__ import annotations

import re
import shutil
import sys

import prefix
from release import DIST, PACKAGING, ROOT, WORK, File, PackError, epoch, lay, run, text, version

PYPI = DIST / "pypi"
TAG = "manylinux_2_28_x86_64"


def make() -> None:
    shutil.rmtree(PYPI, ignore_errors=True)
    PYPI.mkdir(parents=True)
    sdk()
    desk()


def sdk() -> None:
    for target in ("wheel", "sdist"):
        build(ROOT / "sdk/python", target)


def desk() -> None:
    source = PACKAGING / "wheel"
    below = dict(prefix.files("headless", "pypi", server=False))
    below["bin/countersign-desk"] = File((source / "countersign-desk").read_bytes(), 0o755)
    found = {f"root/{name}": file for name, file in below.items()}
    for name in ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-NOTICES"):
        found[name] = below[f"{prefix.DOC}/{name}"]
    for name in ("hatch_build.py", "README.md"):
        found[name] = File((source / name).read_bytes())
    # Each by name: of a folder hatchling takes only what git would.
    scripts = [f'"root/{name}" = "{name.removeprefix("bin/")}"' for name in sorted(below) if name.startswith("bin/")]
    data = [f'"root/{name}" = "{name}"' for name in sorted(below) if not name.startswith("bin/")]
    found["pyproject.toml"] = File(
        text(
            source / "pyproject.toml.in",
            VERSION=version(),
            NATS_VERSION=nats(),
            SCRIPTS="\n".join(scripts),
            DATA="\n".join(data),
        )
    )
    folder = WORK / "wheel"
    lay(found, folder)
    build(folder, "wheel")
    (wheel,) = PYPI.glob("countersign_desk-*.whl")
    shown = run(sys.executable, "-m", "auditwheel", "show", str(wheel))
    if TAG not in " ".join(shown.split()):
        raise PackError(f"auditwheel does not find the wheel to be {TAG}:\n{shown}")


def build(folder: object, target: str) -> None:
    run(
        *(sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(PYPI)),
        cwd=ROOT / str(folder),
        env={"SOURCE_DATE_EPOCH": str(epoch())},
    )


def nats() -> str:
    """The pinned version of nats-server, which is that of the PyPI package too."""
    found = re.search(r"^nats_version=(.+)$", (ROOT / "scripts/setup.sh").read_text(), re.MULTILINE)
    if found is None:
        raise PackError("scripts/setup.sh pins no nats_version")
    return found[1]
