"""The whole way with the real console: ask, decide on its command line, run, and see the ladder.

Fails, rather than skips, where the console was not built: these are the promises that matter.
"""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from dataclasses import asdict
from pathlib import Path

import pytest
from countersign import Enrolment, Gate, ToolCall, args_digest

from nats_server import REPOSITORY

SECONDS = 15.0
PAUSE = 0.03
"""Between two looks at the console: each look is a process, and what it waits for needs the machine too."""
MAIL = {"to": "a@example.org", "subject": "é"}


class RealConsole:
    """`countersign serve` with a data folder of its own, and its command line."""

    def __init__(self, data: Path) -> None:
        self.binary = Path(os.environ.get("COUNTERSIGN_BIN", REPOSITORY / "target/debug/countersign"))
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")}
        named = {k: v for k, v in os.environ.items() if k == "COUNTERSIGN_NATS_SERVER"}
        # Never into the keychain of the person who runs the tests.
        ours = {"COUNTERSIGN_DATA_DIR": str(data), "COUNTERSIGN_OPERATOR": "Ada", "COUNTERSIGN_KEYS": "file"}
        self.environment = {**kept, **named, **ours}
        self.log = data / "serve.log"

    async def start(self) -> None:
        if not self.binary.is_file():
            pytest.fail(f"{self.binary} is missing: cargo build -p countersign, or set COUNTERSIGN_BIN")
        with self.log.open("wb") as log:
            self.process = await asyncio.create_subprocess_exec(
                self.binary, "serve", stdout=asyncio.subprocess.PIPE, stderr=log, env=self.environment
            )
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), SECONDS)
        if not line:
            pytest.fail(f"serve ended before it was ready:\n{self.log.read_text()}")
        self.ready = json.loads(line)

    async def stop(self) -> None:
        if self.process.returncode is None:
            self.process.terminate()
            await asyncio.wait_for(self.process.wait(), SECONDS)

    async def run(self, *arguments: str) -> tuple[int | None, str, str]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            self.binary, *arguments, stdout=pipe, stderr=pipe, env=self.environment
        )
        out, err = await asyncio.wait_for(process.communicate(), SECONDS)
        return process.returncode, out.decode(), err.decode()

    async def done(self, *arguments: str) -> str:
        code, out, err = await self.run(*arguments)
        assert code == 0, f"countersign {' '.join(arguments)}: {code}\n{err}"
        return out

    async def show(self, request_id: str, name: str, *wanted: object) -> dict:
        """What `show` says as soon as field `name` is one of `wanted`."""
        shown: dict = {}
        async with asyncio.timeout(SECONDS):
            while shown.get(name) not in wanted:
                code, out, _ = await self.run("show", request_id, "--json")
                shown = json.loads(out) if code == 0 else {}
                await asyncio.sleep(0 if shown.get(name) in wanted else PAUSE)
        return shown


@pytest.fixture(scope="module")
async def real(tmp_path_factory: pytest.TempPathFactory):
    console = RealConsole(tmp_path_factory.mktemp("console"))
    await console.start()
    yield console
    await console.stop()


@pytest.fixture
async def own_gate(real):
    async with Gate.connect(Enrolment.load(real.ready["agent_json"])) as opened:
        yield opened


@pytest.fixture
def name() -> str:
    return f"py-{uuid.uuid4()}"


def call(name: str) -> ToolCall:
    return ToolCall(name="send_mail", args=dict(MAIL), risk="medium", effects="write", request_id=name)


async def test_the_enrolment_of_the_console_opens_the_gate(real, own_gate):
    assert own_gate.enrolment.realm == real.ready["realm"]
    assert asdict(own_gate.enrolment.log) == real.ready["log"]


async def test_approved_on_the_command_line_runs_and_is_seen_executed(real, own_gate, name):
    asking = asyncio.create_task(own_gate.ask(call(name)))
    pending = await real.show(name, "state", "pending")
    assert (pending["tool"], pending["risk"], pending["args_digest"]) == ("send_mail", "medium", args_digest(MAIL))
    await real.done("approve", name, "--digest", args_digest(MAIL))
    decision = await asyncio.wait_for(asking, SECONDS)
    assert (decision.allowed, decision.args, decision.origin) == (True, MAIL, "operator")
    assert decision.decided_by == {"name": "Ada", "key": real.ready["operator_key"]}
    await real.show(name, "delivery", "received")
    await own_gate.receipt(decision, "executed", executed_args_digest=args_digest(decision.args))
    assert (await real.show(name, "delivery", "executed"))["verdict"] == "approve"


async def test_setup_keys_that_an_agent_declares_at_the_start_are_listed(real):
    enrolment = Enrolment.load(real.ready["agent_json"])
    key = {"bs_name": "confirm_hire", "bs_type": "bool", "bs_default": True, "bs_group": "Safety"}
    async with Gate.connect(enrolment, setup_schema=[key]):
        async with asyncio.timeout(SECONDS):
            while "confirm_hire" not in await real.done("setup", "list"):
                pass


async def test_edited_on_the_command_line_runs_the_edit(real, own_gate, name, tmp_path):
    edit = tmp_path / "edit.json"
    edit.write_text(json.dumps({**MAIL, "to": "b@example.org"}))
    asking = asyncio.create_task(own_gate.ask(call(name)))
    await real.show(name, "state", "pending")
    await real.done("approve", name, "--args", str(edit))
    decision = await asyncio.wait_for(asking, SECONDS)
    assert (decision.verdict, decision.args) == ("modify", {**MAIL, "to": "b@example.org"})


async def test_denied_on_the_command_line_carries_the_words(real, own_gate, name):
    asking = asyncio.create_task(own_gate.ask(call(name)))
    await real.show(name, "state", "pending")
    await real.done("deny", name, "--message", "ask Grace first")
    decision = await asyncio.wait_for(asking, SECONDS)
    assert (decision.verdict, decision.allowed, decision.message) == ("deny", False, "ask Grace first")


async def test_silence_expires_on_both_sides_and_a_late_click_is_refused(real, own_gate, name):
    asking = asyncio.create_task(own_gate.ask(call(name), timeout=1.5))
    await real.show(name, "state", "pending")
    assert (await asyncio.wait_for(asking, SECONDS)).verdict == "expired"
    await real.show(name, "state", "expired")
    code, _, _ = await real.run("approve", name)
    assert code in (4, 5)


async def test_a_withdrawn_request_is_closed(real, own_gate, name):
    asking = asyncio.create_task(own_gate.ask(call(name)))
    await real.show(name, "state", "pending")
    await own_gate.withdraw(name, "not needed")
    assert (await asyncio.wait_for(asking, SECONDS)).verdict == "withdrawn"
    await real.show(name, "state", "withdrawn")


async def test_a_verdict_that_was_not_offered_is_refused_by_the_console(real, own_gate, name):
    asking = asyncio.create_task(own_gate.ask(call(name)))
    await real.show(name, "state", "pending")
    code, _, err = await real.run("skip", name)
    assert code == 6, err
    await real.done("deny", name, "--message", "no")
    await asyncio.wait_for(asking, SECONDS)
