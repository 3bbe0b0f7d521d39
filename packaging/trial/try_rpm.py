"""The .rpm: its files, what it requires, and the C library that its program needs. It is not installed."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from roots import DIST, note, see

NEWEST_GLIBC = (2, 28)
FILES = (
    "/usr/bin/countersign",
    "/usr/lib/countersign/nats-server",
    "/usr/lib/systemd/user/countersign.service",
    "/usr/share/applications/countersign.desktop",
    "/usr/share/man/man1/countersign.1.gz",
    "/usr/share/zsh/site-functions/_countersign",
)


def asked(package: Path, *words: str) -> set[str]:
    done = subprocess.run(["rpm", "-qp", *words, str(package)], check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines())


def glibc(program: Path) -> tuple[int, int]:
    shown = subprocess.run(["readelf", "-WV", str(program)], check=True, capture_output=True, text=True).stdout
    return max((int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", shown))


def trial(_debian: str) -> None:
    (package,) = DIST.glob("countersign-*.x86_64.rpm")
    missing = set(FILES) - asked(package, "--list")
    see(not missing, f"it lacks {missing}")
    outside = {name for name in asked(package, "--list") if not name.startswith("/usr/")}
    see(not outside, f"outside of /usr: {outside}")
    wanted = asked(package, "--requires")
    for library in ("libwebkit2gtk-4.1.so.0()(64bit)", "libgtk-3.so.0()(64bit)"):
        see(library in wanted, f"it does not require {library}: {wanted}")
    see(not asked(package, "--scripts"), "it has scripts")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(f"rpm2cpio {package} | cpio --quiet -idm", shell=True, cwd=folder, check=True)
        program = Path(folder) / "usr/bin/countersign"
        version = glibc(program)
        see(version <= NEWEST_GLIBC, f"its program needs glibc {version}")
        word = (Path(folder) / "usr/lib/countersign/installed-by").read_text()
        see(word == "rpm\n", f"installed-by: {word}")
    note(f"glibc {version[0]}.{version[1]}")
