"""The complete example of a guide, run as a reader would run it: saved to a file of its own, not a letter changed."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import runpy
import sys
from pathlib import Path
from unittest import mock

from nats_server import REPOSITORY

GUIDES = REPOSITORY / "docs/guides"
STARTED = 60.0
"""A program that imports a framework needs some seconds of a processor, and on a busy machine many times that."""


def complete_example(name: str) -> str:
    """The one Python block under `## Complete example` of docs/guides/NAME.md."""
    page = (GUIDES / f"{name}.md").read_text()
    [section] = re.findall(r"^## Complete example$(.*?)(?=^## |\Z)", page, re.M | re.S)
    [code] = re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S)
    return code


def save(name: str, folder: Path) -> Path:
    file = folder / f"{name.replace('-', '_')}_example.py"
    file.write_text(complete_example(name))
    return file


async def start(name: str, agent_json: Path, folder: Path, **environment: str) -> asyncio.subprocess.Process:
    """The example as a program in `folder`, with the enrolment where the guide says: COUNTERSIGN_AGENT_JSON."""
    file = save(name, folder)
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(file),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "COUNTERSIGN_AGENT_JSON": str(agent_json), **environment},
    )


async def printed(process: asyncio.subprocess.Process, seconds: float = STARTED) -> str:
    """What it printed by its end. Fails unless it ended well."""
    try:
        out, err = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        process.kill()
        raise
    assert process.returncode == 0, err.decode()
    return out.decode()


async def output(name: str, agent_json: Path, folder: Path, *, alone: bool, **environment: str) -> str:
    """What it printed by its end: as a program, or in this process, which has loaded the framework already."""
    if alone:
        return await printed(await start(name, agent_json, folder, **environment))
    about = {"COUNTERSIGN_AGENT_JSON": str(agent_json), **environment}

    def work() -> str:
        out = io.StringIO()
        with mock.patch.dict(os.environ, about), contextlib.chdir(folder), contextlib.redirect_stdout(out):
            runpy.run_path(str(save(name, folder)), run_name="__main__")
        return out.getvalue()

    return await asyncio.wait_for(asyncio.to_thread(work), STARTED)
