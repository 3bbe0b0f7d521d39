"""What is beside the program in every package, below one prefix."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from release import PACKAGING, ROOT, WORK, File, Files, PackError, gz

NEWEST_GLIBC = (2, 28)
DOC = "share/doc/countersign"
SERVER = ROOT / ".setup/bin/nats-server"


def program(edition: str) -> Path:
    """The program as it was built: `headless` or `window`."""
    built = WORK / edition / "countersign"
    if not built.is_file():
        raise PackError(f"{built.relative_to(ROOT)} is missing: make dist builds it")
    needed = glibc(built)
    if needed > NEWEST_GLIBC:
        raise PackError(f"the {edition} program needs glibc {needed[0]}.{needed[1]}; at most 2.28 is promised")
    return built


def glibc(executable: Path) -> tuple[int, int]:
    """The newest version of the C library that an executable asks for."""
    shown = said("readelf", "--wide", "--version-info", str(executable)).decode()
    asked = {(int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", shown)}
    return max(asked, default=(0, 0))


def said(*command: str) -> bytes:
    return subprocess.run(command, check=True, capture_output=True).stdout


def files(edition: str, channel: str, *, server: bool = True, zsh: str = "share/zsh/site-functions") -> Files:
    """Every file below the prefix. `channel` is what `doctor` names."""
    executable = program(edition)
    name = str(executable)
    found = {
        "bin/countersign": File(executable.read_bytes(), 0o755),
        "lib/countersign/installed-by": File(f"{channel}\n".encode()),
        "share/man/man1/countersign.1.gz": File(gz(said(name, "man"))),
        "share/bash-completion/completions/countersign": File(said(name, "completions", "bash")),
        f"{zsh}/_countersign": File(said(name, "completions", "zsh")),
        "share/fish/vendor_completions.d/countersign.fish": File(said(name, "completions", "fish")),
        "share/countersign/countersign.service": File((PACKAGING / "countersign.service").read_bytes()),
        "share/countersign/countersign-gateway.service": File(
            (ROOT / "src-tauri/countersign-gateway.service").read_bytes()
        ),
    }
    if server:
        found["lib/countersign/nats-server"] = File(SERVER.read_bytes(), 0o755)
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        found[f"{DOC}/{licence}"] = File((ROOT / licence).read_bytes())
    found[f"{DOC}/copyright"] = File((ROOT / "docs/package-copyright").read_bytes())
    found[f"{DOC}/THIRD-PARTY-NOTICES"] = File((WORK / "THIRD-PARTY-NOTICES").read_bytes())
    for font in ("inter", "jetbrains-mono") if edition == "window" else ():
        text = (ROOT / f"ui/node_modules/@fontsource/{font}/LICENSE").read_bytes()
        found[f"{DOC}/LICENSE-{font}"] = File(text)
    return found
