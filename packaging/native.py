"""The .deb and the .rpm, by nfpm from one description."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import prefix
from release import DIST, PACKAGING, ROOT, WORK, File, Files, epoch, gz, lay, run, version

ICONS = {"32x32": "32x32", "128x128": "128x128", "256x256": "128x128@2x", "512x512": "icon"}
# Debian wants an address; this domain is reserved and reaches nobody.
WHO = "The Countersign contributors <countersign@example.org>"
ABOUT = """The desk where a person countersigns what AI agents are about to do.
An agent asks before it acts; a person approves, edits or denies, and the
agent runs exactly what was approved.
Before you remove this package run `countersign disconnect --all` as each
user who connected a tool: a hook whose program is gone lets calls run."""
DEB = ["libc6 (>= 2.28)", "libwebkit2gtk-4.1-0", "libgtk-3-0 | libgtk-3-0t64", "libsoup-3.0-0", "libdbus-1-3"]
RPM = [
    "libc.so.6(GLIBC_2.28)(64bit)",
    "libwebkit2gtk-4.1.so.0()(64bit)",
    "libgtk-3.so.0()(64bit)",
    "libsoup-3.0.so.0()(64bit)",
    "libdbus-1.so.3()(64bit)",
]


def files(channel: str) -> Files:
    """Below `/usr`."""
    zsh = "share/zsh/vendor-completions" if channel == "deb" else "share/zsh/site-functions"
    found = dict(prefix.files("window", channel, zsh=zsh))
    for name in ("countersign.service", "countersign-gateway.service"):
        found[f"lib/systemd/user/{name}"] = found.pop(f"share/countersign/{name}")
    found["share/applications/countersign.desktop"] = File((PACKAGING / "countersign.desktop").read_bytes())
    for size, icon in ICONS.items():
        content = (ROOT / f"icons/{icon}.png").read_bytes()
        found[f"share/icons/hicolor/{size}/apps/countersign.png"] = File(content)
    if channel == "deb":
        found[f"{prefix.DOC}/changelog.gz"] = File(gz(changelog()))
    return found


def changelog() -> bytes:
    at = datetime.fromtimestamp(epoch(), UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
    return (
        f"countersign ({version()}) stable; urgency=medium\n\n  * Release {version()}.\n\n -- {WHO}  {at}\n".encode()
    )


def make(channel: str) -> Path:
    """Lets nfpm write the package into `dist/`."""
    folder = WORK / channel / "usr"
    below = files(channel)
    lay(below, folder)
    time = datetime.fromtimestamp(epoch(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    contents = [
        {
            "src": str(folder / name),
            "dst": f"/usr/{name}",
            "file_info": {"mode": file.mode, "owner": "root", "group": "root", "mtime": time},
        }
        for name, file in sorted(below.items())
    ]
    description = {
        "name": "countersign",
        "arch": "amd64",
        "platform": "linux",
        "version": version(),
        "version_schema": "none",
        "release": "1" if channel == "rpm" else "",
        "section": "devel",
        "priority": "optional",
        "maintainer": WHO,
        "description": ABOUT,
        "license": "MIT OR Apache-2.0",
        "mtime": time,
        "umask": 0o022,
        "depends": DEB if channel == "deb" else RPM,
        "contents": contents,
        "deb": {"compression": "xz"},
        "rpm": {
            "compression": "xz",
            "summary": "Countersign what AI agents are about to do",
            "buildhost": "localhost",
        },
    }
    name = {"deb": f"countersign_{version()}_amd64.deb", "rpm": f"countersign-{version()}-1.x86_64.rpm"}[channel]
    config = WORK / channel / "nfpm.json"
    config.write_text(json.dumps(description, indent=1))
    run("nfpm", "package", "--config", str(config), "--packager", channel, "--target", str(DIST / name))
    return DIST / name
