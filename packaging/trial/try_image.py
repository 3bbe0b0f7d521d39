"""The image: the `podman run` line of compose.yaml, or its files as a root where no container starts."""

from __future__ import annotations

import json
import os
import resource
import shlex
import subprocess
import tempfile
import time
from pathlib import Path

from roots import DIST, Fresh, TrialError, note, see

PODMAN = ["podman", "--runtime", "runc"]
VOLUME = "countersign-data"


def limits() -> Path:
    """A setting that asks for no higher limits than this machine gives: runc starts nothing else."""
    named = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}
    hard = {name: resource.getrlimit(which)[1] for name, which in named.items()}
    listed = ", ".join(f'"{name}={most}:{most}"' for name, most in hard.items() if most != resource.RLIM_INFINITY)
    file = Path(tempfile.gettempdir()) / f"countersign-trial-{os.getpid()}.conf"
    file.write_text(f"[containers]\ndefault_ulimits = [{listed}]\n")
    return file


def podman(*words: str, code: int = 0) -> str:
    done = subprocess.run([*PODMAN, *words], capture_output=True, text=True, check=False, timeout=180)
    if done.returncode != code:
        raise TrialError(f"podman {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def trial(_debian: str) -> None:
    (archive,) = DIST.glob("countersign-*-image-*.tar.gz")
    os.environ["CONTAINERS_CONF"] = str(limits())
    words = shlex.split((DIST / "compose.yaml").read_text().splitlines()[0].removeprefix("# podman "))
    with archive.open("rb") as packed:
        loaded = subprocess.run(
            "gunzip -c | podman load", shell=True, stdin=packed, capture_output=True, text=True, check=False
        )
    see(loaded.returncode == 0 and "localhost/countersign:" in loaded.stdout, f"podman load: {loaded.stderr}")
    size = int(podman("image", "inspect", words[-1], "--format", "{{.Size}}"))
    note(f"unpacked: {size / 2**20:.1f} MiB")
    see(size <= 120 * 2**20, "more than 120 MiB unpacked")
    podman("rm", "--force", "countersign")
    started = subprocess.run([*PODMAN, *words], capture_output=True, text=True, check=False, timeout=180)
    if started.returncode != 0:
        note(f"no container starts here ({started.stderr.strip().splitlines()[-1]}); its files as a root")
        podman("rm", "--force", "countersign")
        as_root(words[-1])
        return
    try:
        in_container(words)
    finally:
        podman("rm", "--force", "countersign")
        podman("volume", "rm", "--force", VOLUME)


def inside(*words: str, code: int = 0) -> str:
    return podman("exec", "countersign", "countersign", *words, code=code)


def in_container(words: list[str]) -> None:
    until(
        lambda: (
            subprocess.run(
                [*PODMAN, "exec", "countersign", "countersign", "status", "--ready"], check=False
            ).returncode
            == 0
        )
    )
    podman("healthcheck", "run", "countersign")
    asked = subprocess.Popen(
        [*PODMAN, "exec", "countersign", "countersign", "ask", "--tool", "deploy", "--args", '{"to":"production"}'],
        stdout=subprocess.PIPE,
        text=True,
    )
    until(lambda: "deploy" in inside("inbox"))
    inside("approve", json.loads(inside("inbox", "--json").splitlines()[0])["request_id"])
    given = json.loads(asked.communicate(timeout=60)[0])
    see(given == {"to": "production"}, f"other arguments arrive: {given}")
    inside("audit", "verify")
    see(" from image; " in inside("doctor"), "doctor does not name the image")
    podman("stop", "countersign")
    code = podman("inspect", "countersign", "--format", "{{.State.ExitCode}}").strip()
    see(code == "0", f"stopped with {code}")
    podman("rm", "countersign")
    podman(*words)
    until(lambda: "deploy" in inside("history"))


def as_root(image: str) -> None:
    """The files of the image, with its user and a loopback interface alone; the shell is that of a Debian."""
    with Fresh("bookworm") as system, tempfile.TemporaryDirectory() as folder:
        layer = Path(folder) / "layer.tar"
        container = podman("create", image).strip()
        podman("export", "--output", str(layer), container)
        podman("rm", container)
        subprocess.run(
            ["tar", "-xf", str(layer), "--keep-directory-symlink", "-C", str(system.path), "data"], check=True
        )
        subprocess.run(
            ["tar", "-xf", str(layer), "--keep-directory-symlink", "-C", str(system.path), "usr"], check=True
        )
        system.put(Path(__file__).with_name("round.sh"), "/opt/round.sh")
        note(system.run("sh /opt/round.sh image headless").strip())


def until(holds: object) -> None:
    ended = time.monotonic() + 60
    while True:
        try:
            if holds():  # type: ignore[operator]
                return
        except TrialError:
            pass
        if time.monotonic() > ended:
            raise TrialError("the container is not ready within a minute:\n" + podman("logs", "countersign"))
        time.sleep(0.5)
