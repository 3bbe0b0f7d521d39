"""npm's packages: the launcher, the program for each platform, and the TypeScript SDK."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import prefix
from release import DIST, PACKAGING, ROOT, WORK, File, Files, lay, run, version

NPM = DIST / "npm"
SDK = ROOT / "sdk/typescript"
NAME = "countersign-desk"
PLATFORM = f"{NAME}-linux-x64"
COMMON = {
    "version": version(),
    "description": "The desk where a person countersigns what AI agents are about to do",
    "license": "MIT OR Apache-2.0",
    "author": "The Countersign contributors",
}


def make() -> None:
    shutil.rmtree(NPM, ignore_errors=True)
    NPM.mkdir(parents=True)
    licences = {name: File((ROOT / name).read_bytes()) for name in ("LICENSE-MIT", "LICENSE-APACHE")}
    launcher = {
        "name": NAME,
        **COMMON,
        "bin": {"countersign": "launcher.cjs", NAME: "launcher.cjs"},
        "files": ["launcher.cjs", "LICENSE-*"],
        "engines": {"node": ">=18"},
        "optionalDependencies": {PLATFORM: version()},
    }
    source = PACKAGING / "npm"
    pack(
        launcher,
        {
            **licences,
            "launcher.cjs": File((source / "launcher.cjs").read_bytes(), 0o755),
            "README.md": File((source / "README.md").read_bytes()),
        },
    )
    platform = {
        "name": PLATFORM,
        **COMMON,
        "files": ["root/", "LICENSE-*"],
        "os": ["linux"],
        "cpu": ["x64"],
        "libc": ["glibc"],
        "preferUnplugged": True,
    }
    program = {f"root/{name}": file for name, file in prefix.files("headless", "npm").items()}
    about = f"The program of {NAME} for Linux on x64. Install {NAME}, which brings it.\n"
    pack(platform, {**licences, **program, "README.md": File(f"# {PLATFORM}\n\n{about}".encode())})
    if (SDK / "package.json").is_file():
        run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", cwd=SDK)
        tarball(SDK)


def pack(package: Mapping[str, object], files: Files) -> None:
    folder = WORK / "npm" / str(package["name"])
    described = File(f"{json.dumps(package, indent=2)}\n".encode())
    lay({**files, "package.json": described}, folder)
    tarball(folder)


def tarball(folder: Path) -> None:
    run("npm", "pack", "--silent", "--pack-destination", str(NPM), cwd=folder)
