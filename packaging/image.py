"""The container image: one layer on nothing, as an archive that podman and docker load."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import prefix
from release import DIST, PACKAGING, WORK, File, PackError, epoch, git, gz, tar, text, version

LIBRARIES = Path("/lib/x86_64-linux-gnu")
LOADER = "ld-linux-x86-64.so.2"
C_LIBRARY = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2")
NAMES = ("libnss_files.so.2", "libnss_dns.so.2")
# Those of Debian's package: the machine's own list may have some of its owner's.
AUTHORITIES = Path("/usr/share/ca-certificates/mozilla")
USER = 65532
REFERENCE = "localhost/countersign"
SECOND = 1_000_000_000


def system() -> dict[str, File]:
    """Loader, C library and authorities of the Debian 12 that builds this, with their licences."""
    if not re.search(r'^VERSION_ID="12"$', Path("/etc/os-release").read_text(), re.MULTILINE):
        raise PackError("the image takes the C library of Debian 12: build it there")
    found = {}
    for name in (LOADER, *C_LIBRARY, *NAMES):
        found[f"usr/lib/x86_64-linux-gnu/{name}"] = File((LIBRARIES / name).resolve().read_bytes(), 0o755)
    for package in ("libc6", "ca-certificates"):
        copyright_file = Path(f"/usr/share/doc/{package}/copyright")
        found[f"usr/share/doc/{package}/copyright"] = File(copyright_file.read_bytes())
    found |= {
        "lib": File(mode=0o777, target="usr/lib"),
        "lib64": File(mode=0o777, target="usr/lib64"),
        f"usr/lib64/{LOADER}": File(mode=0o777, target=f"../lib/x86_64-linux-gnu/{LOADER}"),
        "etc/ssl/certs/ca-certificates.crt": File(authorities()),
        "etc/passwd": File(f"countersign:x:{USER}:{USER}::/data:/nonexistent\n".encode()),
        "etc/group": File(f"countersign:x:{USER}:\n".encode()),
        "etc/nsswitch.conf": File(b"passwd: files\ngroup: files\nhosts: files dns\n"),
        "data": File(mode=0o700, owner=USER, folder=True),
        "tmp": File(mode=0o1777, folder=True),
    }
    return found


def authorities() -> bytes:
    found = sorted(AUTHORITIES.glob("*.crt"))
    if not found:
        raise PackError("ca-certificates is not installed")
    return b"".join(file.read_bytes() for file in found)


def linked(executable: Path) -> set[str]:
    shown = prefix.said("readelf", "--wide", "--dynamic", str(executable)).decode()
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", shown))


def settings(layer: bytes) -> bytes:
    at = datetime.fromtimestamp(epoch(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {
        "title": "Countersign",
        "description": "The desk where a person countersigns what AI agents are about to do",
        "version": version(),
        "revision": git("rev-parse", "HEAD"),
        "created": at,
        "licenses": "MIT OR Apache-2.0",
    }
    config = {
        "User": f"{USER}:{USER}",
        "Env": ["PATH=/usr/bin", "HOME=/data", "COUNTERSIGN_DATA_DIR=/data"],
        "Entrypoint": ["countersign"],
        "Cmd": ["serve"],
        "WorkingDir": "/data",
        "Volumes": {"/data": {}},
        "StopSignal": "SIGTERM",
        "Labels": {f"org.opencontainers.image.{name}": value for name, value in labels.items()},
        "Healthcheck": {
            "Test": ["CMD", "countersign", "status", "--ready"],
            "Interval": 30 * SECOND,
            "Timeout": 10 * SECOND,
            "StartPeriod": 60 * SECOND,
            "Retries": 3,
        },
    }
    described = {
        "architecture": "amd64",
        "os": "linux",
        "created": at,
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer).hexdigest()}"]},
        "history": [{"created": at, "created_by": "make dist"}],
    }
    return json.dumps(described, indent=1, sort_keys=True).encode()


def make() -> None:
    files = system()
    missing = linked(prefix.program("headless")) - {Path(name).name for name in files}
    if missing:
        raise PackError(f"the image lacks what the program links: {', '.join(sorted(missing))}")
    program = prefix.files("headless", "image")
    files |= {f"usr/{name}": file for name, file in program.items() if not name.endswith(".service")}
    layer = tar(files)
    config = settings(layer)
    name = sha256(config).hexdigest()
    manifest = [{"Config": f"{name}.json", "RepoTags": [f"{REFERENCE}:{version()}"], "Layers": ["layer.tar"]}]
    archive = {
        "layer.tar": File(layer),
        f"{name}.json": File(config),
        "manifest.json": File(json.dumps(manifest).encode()),
    }
    (DIST / f"countersign-{version()}-image-x86_64.tar.gz").write_bytes(gz(tar(archive)))
    (DIST / "compose.yaml").write_bytes(text(PACKAGING / "compose.yaml", VERSION=version()))
    # The layer as it is, for a test where no container starts.
    shutil.rmtree(WORK / "image", ignore_errors=True)
    (WORK / "image").mkdir(parents=True)
    (WORK / "image/layer.tar").write_bytes(layer)
