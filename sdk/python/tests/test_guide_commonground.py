"""The guide as a reader follows it: its files with the real program, its example with a double of CommonGround."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from pathlib import Path

from guide_code import GUIDES, start
from nats_server import REPOSITORY
from test_commonground import asked, connect, job

# CommonGround's modules that the example and the adapter import, with the stub's parts in them.
MODULES = {
    "core/subject.py": "from commonground_kit import parse_subject",
    "infra/l0/tool_reports.py": "from infra.service_runtime import publish_tool_result_report",
    "infra/messaging/ingress.py": "from commonground_kit import build_nats_ingress_context",
    "infra/tool_executor.py": "from commonground_kit import ToolResultBuilder, ToolResultContext",
    "infra/service_runtime.py": """
import os
from types import SimpleNamespace

import nats
from commonground_kit import Ground

ground = Ground()
publish_tool_result_report = ground.publish


class Installation:
    def __init__(self, *, service_name):
        kept = {name: lambda name=name: ground.stores[name] for name in ground.stores}
        self.ctx = SimpleNamespace(stores=SimpleNamespace(**kept))
        self.cardbox = ground
        self.nats = ground.stores["nats"] = SimpleNamespace(nc=None)

    def register_store(self, store):
        return store

    async def open(self):
        self.nats.nc = await nats.connect(os.environ["CG_URL"], nkeys_seed_str=os.environ["CG_SEED"])

    async def close(self):
        await self.nats.nc.close()


ServiceBase = Installation
""",
}


def block(language: str) -> str:
    [code] = re.findall(rf"^```{language}\n(.*?)^```$", (GUIDES / "commonground.md").read_text(), re.M | re.S)
    return code


def test_the_tool_of_the_guide_is_registered_behind_its_gate(tmp_path):
    (tmp_path / "bridge.toml").write_text(block("toml"))
    (tmp_path / "send_mail.yaml").write_text(block("yaml"))
    words = ["bridge", "commonground", "register", "send_mail.yaml", "--config", "bridge.toml", "--project", "p1"]
    program = os.environ.get("COUNTERSIGN_BIN", str(REPOSITORY / "target/debug/countersign"))
    done = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    gate = "cg.v1r4.{project_id}.{channel_id}.cmd.tool.approval.send_mail"
    before = block("yaml").replace("cg.v1r4.{project_id}.{channel_id}.cmd.tool.mail.send", gate)
    assert done.stdout == before.replace("suspend_timeout_seconds: 30", "suspend_timeout_seconds: 3600")


async def test_the_example_of_the_guide_runs_as_written(bench, agent_json, tmp_path):
    for name, code in MODULES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(code)
    folders = [str(tmp_path), str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {"CG_URL": bench.server.url, "CG_SEED": bench.login.seed, "PYTHONPATH": os.pathsep.join(folders)}
    process = await start("commonground", agent_json, tmp_path, **environment)
    answers: list[dict] = []
    with contextlib.suppress(TimeoutError):
        async with await connect(bench) as nc:
            answers += [await asked(nc, job()), await asked(nc, job())]
    if process.returncode is None:
        process.terminate()
    _, error = await process.communicate()
    assert [one["status"] for one in answers] == ["reported", "already_answered"], error.decode()
