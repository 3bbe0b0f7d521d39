"""The .deb: installed by apt on both Debians, its window, removal, and the repository signed and changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from roots import DIST, ROOT, Fresh, TrialError, note, see

DISPLAY = ":77"
COLOURS = 60
TITLE = "Countersign"
APT = "DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends"


def trial(debian: str) -> None:
    (package,) = DIST.glob("countersign_*_amd64.deb")
    with Fresh(debian) as system:
        system.put(package, f"/opt/{package.name}")
        system.put(Path(__file__).with_name("round.sh"), "/opt/round.sh")
        online = {"root": True, "network": True, "seconds": 900}
        system.run(f"apt-get -qq update && {APT} install /opt/{package.name}", **online)
        note(system.run("sh /opt/round.sh deb window").strip())
        window(system)
        # The same file over it, as an update does.
        system.run(f"{APT} install --reinstall /opt/{package.name}", root=True)
        see("deploy" in system.run("countersign history"), "the history is gone after an update")
        repository(system)
        system.run(f"{APT} purge countersign", root=True)
        left = system.run(
            "find /usr /etc /opt -name '*countersign*' -not -name '*.deb' -not -path '/opt/apt*'", root=True
        )
        see(not left.strip(), f"left behind: {left}")
        see("data" in system.run("ls -d $HOME/.local/share/*countersign* && echo data"), "the data folder is gone")
    if debian == "bookworm":
        lint(package)


def window(system: Fresh) -> None:
    """What a person sees: the title, and more colours than an empty page has."""
    screen = subprocess.Popen(
        ["Xvfb", DISPLAY, "-screen", "0", "1500x1000x24", "-ac", "-nolisten", "tcp"], stderr=subprocess.DEVNULL
    )
    log = tempfile.TemporaryFile()  # noqa: SIM115
    command = system.command("exec countersign", places=["/tmp/.X11-unix:/tmp/.X11-unix"], DISPLAY=DISPLAY)
    desk = None
    try:
        wait_for(lambda: Path(f"/tmp/.X11-unix/X{DISPLAY[1:]}").exists(), 20, "Xvfb does not start")
        desk = subprocess.Popen(command, stdout=log, stderr=log)
        wait_for(lambda: TITLE in titles(), 60, lambda: f"no window appears: {read(log)}")
        wait_for(lambda: colours() > COLOURS, 60, lambda: f"the window paints {colours()} colours: {read(log)}")
        note(f"window: {colours()} colours")
    finally:
        for process in (desk, screen):
            if process is not None:
                # The namespace of the desk passes no other signal on; all in it ends with it.
                process.kill()
                process.wait(30)
        log.close()


def on_screen(*command: str) -> bytes:
    done = subprocess.run(command, capture_output=True, env={**os.environ, "DISPLAY": DISPLAY}, check=False)
    return done.stdout


def titles() -> str:
    return on_screen("xdotool", "search", "--onlyvisible", "--name", TITLE, "getwindowname").decode()


def colours() -> int:
    picture = on_screen("import", "-window", "root", "png:-")
    counted = subprocess.run(["identify", "-format", "%k", "png:-"], input=picture, capture_output=True, check=False)
    return int(counted.stdout or 0)


def read(log: object) -> str:
    log.seek(0)  # type: ignore[attr-defined]
    return str(log.read().decode(errors="replace"))[-2000:]  # type: ignore[attr-defined]


def wait_for(holds: object, seconds: float, why: object) -> None:
    ended = time.monotonic() + seconds
    while not holds():  # type: ignore[operator]
        if time.monotonic() > ended:
            raise TrialError(why() if callable(why) else str(why))
        time.sleep(0.3)


def repository(system: Fresh) -> None:
    """Signed with a key of this trial, used, and refused once a byte is another."""
    home = Path(tempfile.mkdtemp())
    copy = system.path / "opt/apt-dist"
    shutil.copytree(DIST / "apt", copy / "apt")
    env = {**os.environ, "GNUPGHOME": str(home), "DIST": str(copy), "GPG_KEY": "trial@localhost", "MINISIGN_KEY": ""}
    try:
        generate = [
            "gpg",
            "--batch",
            "--quiet",
            "--passphrase",
            "",
            "--quick-generate-key",
            "trial@localhost",
            "rsa3072",
        ]
        for command in (generate, [str(ROOT / "scripts/dist-sign.sh")]):
            subprocess.run(command, env=env, check=True, capture_output=True)
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], env=env, check=False)
        shutil.rmtree(home, ignore_errors=True)
    source = "deb [signed-by=/opt/apt-dist/apt/countersign.gpg] file:/opt/apt-dist/apt stable main"
    only = "-o Dir::Etc::sourcelist=/opt/own.list -o Dir::Etc::sourceparts=-"
    system.run(f"echo '{source}' >/opt/own.list; apt-get -qq {only} update", root=True)
    system.run(f"{APT} {only} install --reinstall countersign", root=True)
    for name in ("InRelease", "Release"):
        path = copy / "apt/dists/stable" / name
        path.write_bytes(path.read_bytes().replace(b"Label: Countersign", b"Label: Changed"))
    system.run(f"rm -rf /var/lib/apt/lists/*; apt-get -qq {only} update", root=True, code=100)
    system.run("rm -rf /opt/apt-dist /opt/own.list", root=True)


def lint(package: Path) -> None:
    """Errors of lintian but for what comes unchanged from others."""
    done = subprocess.run(["lintian", "--no-cfg", str(package)], capture_output=True, text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if line.startswith("E:")]
    wrong = [line for line in errors if "nats-server" not in line and "embedded-library" not in line]
    see(not wrong, "lintian:\n" + "\n".join(wrong))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-x", str(package), folder], check=True)
        entry = Path(folder) / "usr/share/applications/countersign.desktop"
        subprocess.run(["desktop-file-validate", str(entry)], check=True)
