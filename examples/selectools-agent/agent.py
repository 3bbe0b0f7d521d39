"""A selectools agent behind the gate: looks an invoice up, mails about it and deletes it, over and over.

Its model is a script, its invoices a JSON file and its mails lines on the terminal: it talks to nothing but the local
bus. Refuses to run anything a person did not allow, except the look-up, which its own policy calls safe.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Any

from countersign import CountersignError, Effects, Risk
from countersign.adapters.selectools import SelectoolsGate
from selectools import (  # type: ignore[import-untyped,unused-ignore]
    Agent,
    AgentConfig,
    AgentObserver,
    Message,
    Role,
    Tool,
    ToolCall,
    ToolPolicy,
)
from selectools.tools import ToolParameter  # type: ignore[import-untyped,unused-ignore]
from selectools.usage import UsageStats  # type: ignore[import-untyped,unused-ignore]

CUSTOMERS = ("ada@example.org", "grace@example.org", "alan@example.org")
RISKS: dict[str, Risk] = {"lookup_invoice": "safe", "send_mail": "medium", "delete_invoice": "high"}
EFFECTS: dict[str, Effects] = {"lookup_invoice": "read", "send_mail": "write", "delete_invoice": "irreversible"}
PAUSE_SECONDS = 2.0


def say(text: str) -> None:
    print(text, flush=True)


class Invoices:
    """The invoices in one JSON file, `{id: {customer, amount}}`; made with six of them where there is none."""

    def __init__(self, file: Path) -> None:
        self._file = file
        if not file.exists():
            self._write({f"INV-{n}": {"customer": CUSTOMERS[n % 3], "amount": 12.5 * n} for n in range(40, 46)})

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._file.read_text(encoding="utf-8"))
        return found

    def _write(self, invoices: dict[str, Any]) -> None:
        self._file.write_text(json.dumps(invoices, indent=1), encoding="utf-8")

    def tools(self) -> list[Tool]:
        """The three tools of the agent."""

        def lookup_invoice(invoice_id: str) -> str:
            return json.dumps(self.read().get(invoice_id, "no such invoice"))

        def send_mail(to: str, subject: str) -> str:
            say(f"mail    to {to!r}: {subject!r}")
            return f"sent to {to}"

        def delete_invoice(invoice_id: str) -> str:
            invoices = self.read()
            if invoices.pop(invoice_id, None) is None:
                return "no such invoice"
            self._write(invoices)
            return f"deleted {invoice_id}, {len(invoices)} left"

        which = ToolParameter("invoice_id", str, "Number of the invoice")
        return [
            Tool("lookup_invoice", "Reads one invoice", [which], lookup_invoice),
            Tool(
                "send_mail",
                "Sends a mail to a customer",
                [ToolParameter("to", str, "Address"), ToolParameter("subject", str, "Subject line")],
                send_mail,
            ),
            Tool("delete_invoice", "Deletes an invoice for good", [which], delete_invoice),
        ]


class ScriptedModel:
    """Looks the invoice up, then asks for the mail and the deletion in one turn, then sums up."""

    name = "scripted"
    supports_streaming = False
    supports_async = False

    def __init__(self, invoice_id: str, customer: str) -> None:
        self._turns = [
            [("lookup_invoice", {"invoice_id": invoice_id})],
            [
                ("send_mail", {"to": customer, "subject": f"We cancelled {invoice_id}"}),
                ("delete_invoice", {"invoice_id": invoice_id}),
            ],
        ]
        self._calls = 0

    def complete(self, *, messages: list[Message], **_: Any) -> tuple[Message, UsageStats]:
        """The next turn of the script; `messages` are printed as far as they are answers of tools."""
        usage = UsageStats(0, 0, 0, 0.0, "scripted", "scripted")
        if not self._turns:
            return Message(role=Role.ASSISTANT, content="That is all."), usage
        calls = []
        for tool, args in self._turns.pop(0):
            self._calls += 1
            calls.append(ToolCall(tool_name=tool, parameters=args, id=f"call_{self._calls}"))
        return Message(role=Role.ASSISTANT, content="", tool_calls=calls), usage


class Narrator(AgentObserver):  # type: ignore[misc,unused-ignore]
    """One line for everything that happens to a call."""

    def on_policy_decision(self, run_id: str, tool: str, decision: str, reason: str, args: dict[str, Any]) -> None:
        say(f"{'asks   ' if decision == 'review' else 'allowed'} {tool} {json.dumps(args)}")

    def on_tool_end(self, run_id: str, call_id: str, tool: str, result: str, duration_ms: float) -> None:
        say(f"ran     {tool}: {result}")

    def on_tool_error(
        self, run_id: str, call_id: str, tool: str, error: Exception, args: dict[str, Any], duration_ms: float
    ) -> None:
        say(f"failed  {tool}: {error}")

    def on_run_end(self, run_id: str, result: Any) -> None:
        for step in result.trace.steps if result.trace else ():
            if step.error:
                say(f"not run {step.tool_name}: {step.error}")


def play(gate: SelectoolsGate, tools: list[Tool], invoice_id: str, customer: str, timeout: float) -> None:
    """One round. Returns when both gated calls were answered or expired."""
    config = gate.tool_config(policy=ToolPolicy(allow=["lookup_*"]), approval_timeout=timeout)
    model = ScriptedModel(invoice_id, customer)
    agent = Agent(tools=tools, provider=model, config=AgentConfig(tool=config, observers=[gate, Narrator()]))
    agent.run(f"Cancel invoice {invoice_id} and tell the customer.")


def rounds(arguments: argparse.Namespace, folder: Path) -> None:
    file = arguments.data or folder / "invoices.json"
    tools = Invoices(file).tools()
    done = 0
    with SelectoolsGate.open(arguments.agent_json, tools=tools, risks=RISKS, effects=EFFECTS) as gate:
        say(f"ready   as {gate.enrolment.workspace}/{gate.enrolment.agent}")
        while True:
            invoices = Invoices(file).read()
            if not invoices:
                file.unlink()
                continue
            invoice_id, invoice = next(iter(invoices.items()))
            play(gate, tools, invoice_id, invoice["customer"], arguments.timeout)
            done += 1
            if done == arguments.repeat:
                return
            time.sleep(PAUSE_SECONDS)


def stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main() -> int:
    """0 all rounds done, 1 the gate or the bus failed, 130 or 143 stopped by a signal (requests are withdrawn)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent-json", type=Path, help="enrolment file (default: COUNTERSIGN_AGENT_JSON)")
    parser.add_argument("--repeat", type=int, default=0, metavar="N", help="rounds to play (default: until stopped)")
    parser.add_argument("--once", action="store_const", dest="repeat", const=1, help="one round")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds to wait for an answer (default: 300)")
    parser.add_argument("--data", type=Path, help="JSON file of invoices (default: a temporary one)")
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    try:
        with tempfile.TemporaryDirectory(prefix="selectools-agent-") as folder:
            rounds(arguments, Path(folder))
    except CountersignError as error:
        print(f"{error.code}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
