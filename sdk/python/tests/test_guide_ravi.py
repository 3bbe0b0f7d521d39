"""The example of docs/guides/ravi.md as a program of its own, with ravi's own invoker."""

from __future__ import annotations

import asyncio
import inspect
import os

import pytest

import ravi_kit
from guide_code import STARTED, printed, start
from office import arrived

# What a program loads before anything else: ravi without the packages that its invoker does not need.
CUSTOMIZE = "import logging, sys, types\n" + inspect.getsource(ravi_kit.light)


@pytest.mark.parametrize("version", ravi_kit.VERSIONS)
@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_the_example_of_the_guide_runs_as_written(console, agent_json, tmp_path, verdict, version):
    before = len(console.received["request"])
    place = str(ravi_kit.folder(version))
    (tmp_path / "sitecustomize.py").write_text(f"{CUSTOMIZE}\nlight(sys.path, {place!r})\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = await start("ravi", agent_json, tmp_path, PYTHONPATH=path)
    working = asyncio.ensure_future(printed(process))
    [body] = await arrived(console, before, 1, working, STARTED)
    assert (body["tool"]["name"], body["risk"]) == ("send_mail", "high")
    assert body["chain"] == {"chain_id": "invoices", "seq": 1, "max_calls": 50}
    await console.decide(body["request_id"], verdict)
    out = await working
    if verdict == "approve":
        assert out == "sending a mail to ada@example.org\nok sent to ada@example.org\n"
    else:
        assert out == "denied Approval denied for tool 'send_mail'.\n"
