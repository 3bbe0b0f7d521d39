"""The complete example of a guide, run as a reader would run it: saved to a file of its own, not a letter changed."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

from nats_server import REPOSITORY

GUIDES = REPOSITORY / "docs/guides"


def complete_example(name: str) -> str:
    """The one Python block under `## Complete example` of docs/guides/NAME.md."""
    page = (GUIDES / f"{name}.md").read_text()
    [section] = re.findall(r"^## Complete example$(.*?)(?=^## |\Z)", page, re.M | re.S)
    [code] = re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S)
    return code


async def start(name: str, agent_json: Path, folder: Path, **environment: str) -> asyncio.subprocess.Process:
    """The example as a program in `folder`, with the enrolment where the guide says: COUNTERSIGN_AGENT_JSON."""
    file = folder / f"{name.replace('-', '_')}_example.py"
    file.write_text(complete_example(name))
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(file),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "COUNTERSIGN_AGENT_JSON": str(agent_json), **environment},
    )


async def printed(process: asyncio.subprocess.Process, seconds: float = 30.0) -> str:
    """What it printed by its end. Fails unless it ended well."""
    try:
        out, err = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        process.kill()
        raise
    assert process.returncode == 0, err.decode()
    return out.decode()
