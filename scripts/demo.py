"""One whole round without a person: an agent asks, an operator answers on the command line, it goes on.

Refuses to end well unless every outcome was right. Works in a temporary data folder, beside no other console.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats
from countersign import CountersignError, Decision, Enrolment, Gate, ToolCall, args_digest

START_SECONDS = 20.0
STEP_SECONDS = 15.0
EXPIRES_AFTER = 4.0


class DemoError(Exception):
    """An outcome was not what the protocol promises."""


@dataclass(frozen=True)
class Case:
    """One request, what the operator does about it and what must come out."""

    what: str
    request_id: str
    args: dict[str, Any]
    verdict: str
    state: str
    delivery: str
    operator: tuple[str, ...] = ()
    runs_with: dict[str, Any] | None = None
    message: str | None = None
    timeout: float = 60.0
    withdraws: bool = False


REASON = "INV-42 is under audit; send a credit note instead"
INVOICE = {"invoice_id": "INV-42"}
MAIL = {"to": "customer@example.org", "subject": "Your invoice"}
EDITED_MAIL = {"to": "billing@example.org", "subject": "Your invoice"}

CASES = (
    Case("approved as asked", "demo-approve", MAIL, "approve", "decided", "executed",
         operator=("approve", "{id}", "--digest", args_digest(MAIL)), runs_with=MAIL),
    Case("approved with other arguments", "demo-edit", MAIL, "modify", "decided", "executed",
         operator=("approve", "{id}", "--args", "{edited}"), runs_with=EDITED_MAIL),
    Case("denied with a reason", "demo-deny", INVOICE, "deny", "decided", "received",
         operator=("deny", "{id}", "--message", REASON), message=REASON),
    Case("nobody answers in time", "demo-expire", INVOICE, "expired", "expired", "", timeout=EXPIRES_AFTER),
    Case("taken back by the agent", "demo-withdraw", INVOICE, "withdrawn", "withdrawn", "", withdraws=True),
)  # fmt: skip
MALFORMED = "demo-malformed"
STAGES = ("received", "executed", "failed", "refused")


@dataclass
class Console:
    """A running `countersign serve` and the command line beside it."""

    binary: Path
    data: Path
    ready: dict[str, Any] = field(default_factory=dict)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_NATS")}
        ours = {"COUNTERSIGN_DATA_DIR": str(self.data), "COUNTERSIGN_OPERATOR": "Demo operator"}
        # The folder is thrown away; an entry of the keychain would stay.
        return kept | ours | {"COUNTERSIGN_KEYS": "file"}

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """The console runs inside this block and is asked to stop at its end."""
        log = (self.data / "serve.log").open("wb")
        process = await asyncio.create_subprocess_exec(
            self.binary, "serve", stdout=asyncio.subprocess.PIPE, stderr=log, env=self._environment()
        )
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        try:
            async with asyncio.timeout(START_SECONDS):
                line = await process.stdout.readline()
            if not line:
                raise DemoError(f"the console did not start:\n{(self.data / 'serve.log').read_text()}")
            self.ready = json.loads(line)
            yield
        finally:
            if process.returncode is None:
                process.terminate()
                try:
                    await asyncio.wait_for(process.wait(), STEP_SECONDS)
                except TimeoutError:
                    process.kill()
                    await process.wait()
            log.close()

    async def run(self, *arguments: str) -> str:
        """One command; its standard output. Raises `DemoError` when it fails or takes too long."""
        process = await asyncio.create_subprocess_exec(
            self.binary,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment(),
        )
        try:
            async with asyncio.timeout(STEP_SECONDS):
                out, err = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise DemoError(f"countersign {' '.join(arguments)}: no end after {STEP_SECONDS} s") from None
        if process.returncode != 0:
            raise DemoError(f"countersign {' '.join(arguments)}: exit {process.returncode}\n{err.decode()}")
        return out.decode()

    async def show(self, request_id: str) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(await self.run("show", request_id, "--json"))
        return shown

    async def show_when(self, request_id: str, name: str, wanted: str) -> dict[str, Any]:
        """What `show` says once field `name` is `wanted`."""
        deadline = time.monotonic() + STEP_SECONDS
        while True:
            with contextlib.suppress(DemoError):
                shown = await self.show(request_id)
                if shown.get(name) == wanted:
                    return shown
            if time.monotonic() > deadline:
                shown = await self.show(request_id)
                raise DemoError(f"{request_id}: {name} did not become {wanted}: {shown}")
            await asyncio.sleep(0.1)


def expect(found: object, wanted: object, what: str) -> None:
    """Raises `DemoError` unless both are equal."""
    if found != wanted:
        raise DemoError(f"{what}: expected {wanted!r}, found {found!r}")


def step(text: str) -> None:
    print(f"  {text}", flush=True)


async def agent_side(gate: Gate, case: Case) -> Decision:
    """Asks, and runs the tool with exactly the arguments that were allowed."""
    call = ToolCall(
        name="delete_invoice" if case.args is INVOICE else "send_mail",
        args=case.args,
        risk="medium",
        effects="irreversible" if case.args is INVOICE else "write",
        reason=f"demo: {case.what}",
        request_id=case.request_id,
    )
    decision = await gate.ask(call, timeout=case.timeout)
    if decision.allowed:
        await gate.receipt(decision, "executed", executed_args_digest=args_digest(decision.args))
    return decision


def print_ladder(shown: dict[str, Any]) -> None:
    """The delivery ladder (protocol, section 6) as far as this request came."""
    rungs = [("stored", shown.get("stored_at"), shown.get("request_seq"))]
    if shown.get("decided_at"):
        rungs.append((str(shown.get("verdict")), shown.get("decided_at"), None))
    if shown.get("stream_seq"):
        rungs.append(("on the bus", None, shown.get("stream_seq")))
    receipts = sorted(shown.get("receipts") or [], key=lambda receipt: STAGES.index(receipt["stage"]))
    rungs.extend((receipt["stage"], receipt.get("at"), None) for receipt in receipts)
    for name, at, sequence in rungs:
        number = f"sequence {sequence}" if sequence else ""
        print(f"      {name:<12}{at or '':<28}{number}".rstrip(), flush=True)


async def play(console: Console, gate: Gate, case: Case, edited: Path) -> None:
    step(f"{case.what}: the agent asks for {case.request_id}")
    asking = asyncio.create_task(agent_side(gate, case))
    try:
        await console.show_when(case.request_id, "state", "pending")
        if case.operator:
            command = [part.format(id=case.request_id, edited=edited) for part in case.operator]
            await console.run(*command)
            step(f"  operator: countersign {shlex.join(command)}")
        elif case.withdraws:
            await gate.withdraw(case.request_id, "the demo no longer needs it")
            step("  agent: withdraws")
        else:
            step(f"  operator: silent; the deadline is {EXPIRES_AFTER:g} s")
        async with asyncio.timeout(STEP_SECONDS):
            decision = await asking
    finally:
        asking.cancel()
    expect(decision.verdict, case.verdict, f"{case.what}: the agent's answer")
    expect(decision.allowed, case.runs_with is not None, f"{case.what}: whether the tool may run")
    if case.runs_with is not None:
        expect(decision.args, case.runs_with, f"{case.what}: the arguments that ran")
    if case.message is not None:
        expect(decision.message, case.message, f"{case.what}: the reason at the agent")

    shown = await console.show_when(case.request_id, "state", case.state)
    if case.delivery:
        shown = await console.show_when(case.request_id, "delivery", case.delivery)
    step(f"  agent: {decision.verdict}, {'runs' if decision.allowed else 'does not run'}")
    print_ladder(shown)


async def send_malformed(console: Console, enrolment: Enrolment) -> None:
    step("not JSON: the agent sends half a request")
    client = await nats.connect(
        enrolment.nats_url,
        nkeys_seed_str=enrolment.nkey_seed,
        inbox_prefix=enrolment.inbox_prefix.encode(),
        connect_timeout=5,
        max_reconnect_attempts=1,
    )
    try:
        subject = f"countersign.v1.request.{enrolment.workspace}.{enrolment.agent}.{MALFORMED}"
        await client.request(subject, b'{"v":1,"kind":"tool_call",', timeout=5)
    finally:
        await client.close()
    shown = await console.show_when(MALFORMED, "verdict", "rejected")
    expect(shown.get("state"), "rejected", "malformed: the state")
    expect(shown.get("error_code"), "not_json", "malformed: the code")
    step("  console: rejected, not_json; it can never be approved")
    print_ladder(shown)


async def demo(binary: Path) -> None:
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="countersign-demo-") as folder:
        console = Console(binary, Path(folder))
        edited = Path(folder) / "edited.json"
        edited.write_text(json.dumps(EDITED_MAIL), encoding="utf-8")
        async with console.serving():
            enrolment = Enrolment.load(console.ready["agent_json"])
            step(f"console ready on {console.ready['nats_url']}")
            async with Gate.connect(enrolment, framework="demo") as gate:
                for case in CASES:
                    await play(console, gate, case, edited)
            await send_malformed(console, enrolment)
            verified = json.loads(await console.run("audit", "verify", "--json"))
            expect(verified.get("ok"), True, "the audit chain")
            step(f"audit chain: {verified.get('rows')} rows, unbroken")
    seconds = time.monotonic() - begun
    print(f"demo: {len(CASES) + 1} requests, every outcome right, {seconds:.1f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--countersign", type=Path, required=True, help="the binary to run")
    arguments = parser.parse_args()
    try:
        asyncio.run(demo(arguments.countersign.resolve()))
    except (DemoError, CountersignError, TimeoutError, KeyError) as error:
        print(f"demo failed: {error or type(error).__name__}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
