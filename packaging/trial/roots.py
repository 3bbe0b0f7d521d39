"""Fresh Debian systems: made once by mmdebstrap, unpacked for each trial, entered in namespaces of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
WORK = DIST / "work/roots"
DEBIANS = ("bookworm", "trixie")
USER = 1000
HOME = "/home/ada"
AUTHORITIES = "etc/ssl/certs/ca-certificates.crt"

# What runs as root before the trial: proc, devices, a loopback interface, then the user.
ENTER = """set -eu
root=$1 user=$2 script=$3
shift 3
ip link set lo up
mount -t proc proc "$root/proc"
for device in null zero urandom random full tty; do
  [ -e "$root/dev/$device" ] || : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir -p "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
for place in "$@"; do mkdir -p "$root${place#*:}"; mount --bind "${place%%:*}" "$root${place#*:}"; done
exec chroot --userspec="$user:$user" "$root" /usr/bin/env -i HOME="$TRIAL_HOME" USER=ada LANG=C.UTF-8 \
  PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin $TRIAL_ENV sh -ec "$script" trial
"""


class TrialError(Exception):
    """What a trial did not see."""


def base(debian: str, packages: Sequence[str] = ()) -> Path:
    """A packed system with these packages, made on the first call."""
    name = "-".join((debian, *packages))
    packed = WORK / f"{name}.tar"
    if not packed.is_file():
        WORK.mkdir(parents=True, exist_ok=True)
        included = ",".join(("ca-certificates", *packages))
        made = WORK / f"{name}.new.tar"
        command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={included}", debian, str(made)]
        subprocess.run(command, check=True)
        made.rename(packed)
    return packed


class Fresh:
    """A system of its own for one trial; removed at the end."""

    def __init__(self, debian: str, packages: Sequence[str] = ()) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="trial-", dir=WORK if WORK.is_dir() else None))
        subprocess.run(["tar", "-xf", str(base(debian, packages)), "-C", str(self.path)], check=True)
        self.path.chmod(0o755)
        home = self.path / HOME.lstrip("/")
        home.mkdir(parents=True)
        os.chown(home, USER, USER)
        with (self.path / "etc/passwd").open("a") as users:
            users.write(f"ada:x:{USER}:{USER}::{HOME}:/bin/sh\n")
        # Steps with a network reach what this machine reaches.
        for file in ("etc/resolv.conf", AUTHORITIES):
            shutil.copyfile(f"/{file}", self.path / file)

    def __enter__(self) -> Fresh:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def put(self, source: Path, place: str) -> None:
        """Copies a file or folder in, for everybody to read."""
        target = self.path / place.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)

    def command(
        self, script: str, *, root: bool = False, network: bool = False, places: Sequence[str] = (), **env: str
    ) -> list[str]:
        namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--uts", "--ipc", *([] if network else ["--net"])]
        if network:
            env |= {"PIP_CERT": f"/{AUTHORITIES}", "NODE_EXTRA_CA_CERTS": f"/{AUTHORITIES}"}
        user = "0" if root else str(USER)
        words = [
            f"TRIAL_HOME={os.path.expanduser('~root') if root else HOME}",
            f"TRIAL_ENV={' '.join(f'{k}={v}' for k, v in env.items())}",
        ]
        enter = ENTER.replace("ip link set lo up\n", "") if network else ENTER
        inside = ["sh", "-c", enter, "enter", str(self.path), user, script, *places]
        return ["env", *words, "unshare", *namespaces, *inside]

    def run(self, script: str, *, code: int = 0, seconds: int = 300, **how: object) -> str:
        """Runs a script to its end; its output. `how` is that of `command`."""
        command = self.command(script, **how)  # type: ignore[arg-type]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        if done.returncode != code:
            raise TrialError(
                f"exit {done.returncode} instead of {code}:\n{script.strip()}\n{done.stdout}{done.stderr}"
            )
        return done.stdout + done.stderr


def see(holds: bool, what: str) -> None:
    """Fails unless it holds."""
    if not holds:
        raise TrialError(what)


def note(text: str) -> None:
    print(f"    {text}", flush=True)
    sys.stdout.flush()
