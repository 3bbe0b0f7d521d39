"""The wheels, from an index on the loopback address: pipx, `pipx run`, uvx, `uv tool`, and the SDK."""

from __future__ import annotations

import shutil
from pathlib import Path

import index
from roots import DIST, WORK, Fresh, note, see

# What pipx itself installs, and uv.
TOOLS = ("pip", "setuptools", "wheel", "uv")
START = f"""export PIP_INDEX_URL={index.ADDRESS}/simple UV_DEFAULT_INDEX={index.ADDRESS}/simple
export PATH=$HOME/.local/bin:$PATH
python3 -m http.server {index.PORT} --bind 127.0.0.1 --directory /opt/index >/dev/null 2>&1 &
until python3 -c 'import urllib.request as r; r.urlopen("{index.ADDRESS}/simple/")' 2>/dev/null; do sleep 0.1; done
"""
AGENT = """
import asyncio
from countersign import Gate, ToolCall

async def main() -> None:
    async with Gate.connect("/tmp/agent.json") as gate:
        decision = await gate.ask(ToolCall(name="send", args={"to": "ada"}, risk="medium"), timeout=60)
        assert decision.allowed and decision.args == {"to": "ada"}, decision
        await gate.receipt(decision, "executed", executed_args_digest=decision.args_digest)

asyncio.run(main())
"""


def trial(debian: str) -> None:
    pypi = DIST / "pypi"
    wheels = WORK / f"wheels-{debian}"
    with Fresh(debian, ("python3", "python3-venv", "pipx")) as system:
        if not wheels.is_dir():
            fetch(system, wheels)
        for wheel in pypi.glob("*.whl"):
            shutil.copyfile(wheel, wheels / wheel.name)
        index.simple(system.path / "opt/index", wheels)
        system.put(Path(__file__).with_name("round.sh"), "/opt/round.sh")
        (system.path / "opt/agent.py").write_text(AGENT)
        system.run(START + "pipx install countersign-desk")
        note(system.run(START + "sh /opt/round.sh pypi headless").strip())
        sdk_asks(system)
        said = system.run(
            START + "pipx run countersign-desk -V && pipx run countersign-desk connect claude-code", code=2
        )
        see("uv tool install" in said, f"connect from pipx run: {said}")
        system.run(START + "pipx uninstall countersign-desk && ! command -v countersign")
        uv(system)
        see("data" in system.run("ls -d $HOME/.local/share/*countersign* && echo data"), "the data folder is gone")


def fetch(system: Fresh, wheels: Path) -> None:
    """What ours and the tools need, for this Debian's Python: the only step with a network."""
    system.put(DIST / "pypi", "/opt/pypi")
    system.run(
        f"""mkdir /tmp/wheels && python3 -m venv /tmp/fetch
        /tmp/fetch/bin/pip --quiet wheel --wheel-dir /tmp/wheels /opt/pypi/*.whl {" ".join(TOOLS)}
        rm -rf /tmp/fetch""",
        network=True,
        seconds=900,
    )
    fetched = wheels.with_suffix(".new")
    shutil.rmtree(fetched, ignore_errors=True)
    shutil.copytree(system.path / "tmp/wheels", fetched)
    fetched.rename(wheels)


def sdk_asks(system: Fresh) -> None:
    system.run(
        START
        + """python3 -m venv /tmp/agent && /tmp/agent/bin/pip install --quiet countersign-sdk
        countersign serve >/tmp/ready 2>/tmp/log & console=$!
        until countersign status --ready 2>/dev/null; do sleep 0.2; done
        countersign enroll default/trial --out /tmp/enrolled >/dev/null
        cp /tmp/enrolled/agent.json /tmp/agent.json
        /tmp/agent/bin/python /opt/agent.py & agent=$!
        until countersign inbox --json | grep -q '"send"'; do sleep 0.2; done
        countersign approve "$(countersign inbox --json | sed -n 's/.*"request_id": *"\\([^"]*\\)".*/\\1/p')"
        wait $agent
        kill $console; wait $console"""
    )


def uv(system: Fresh) -> None:
    system.run(
        START
        + """python3 -m venv /tmp/uv && /tmp/uv/bin/pip install --quiet uv
        export PATH=/tmp/uv/bin:$PATH
        uvx countersign-desk -V
        code=0; uvx countersign-desk connect claude-code 2>/tmp/why || code=$?
        [ $code = 2 ]; grep -q 'uv tool install' /tmp/why
        uv tool install --quiet countersign-desk && countersign -V && countersign history | grep -q deploy
        countersign connect claude-code && countersign disconnect --all
        uv tool uninstall countersign-desk"""
    )
