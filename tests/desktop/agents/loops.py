"""Runs of three kinds as spans, for what a call tree must tell apart.

`loop`: a loop of tools as Kate's: a local tool that waits for its decision and sends no span of its own, a tool of
the market place with what it charged, and an end because the rounds were used up. `subchats`: a call that waits for
two subchats, of which one has ended; `subchats done` ends the other and the call too. `shapes`: the errors that a
market place gives, a result that is kept elsewhere, and a chain that crashed.

Refuses to run anything else than the decided arguments.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import sys
from typing import Any

from countersign import Gate, ToolCall

LOOP = "7c1e0f0a5d6b4c8f9a3e2d1c0b9a8f7e"
CHATS = "1b2c3d4e5f60718293a4b5c6d7e8f901"
SHAPES = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"
START = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=20)


def at(seconds: float) -> str:
    moment = START + datetime.timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def span(
    gate: Gate,
    trace: str,
    number: int,
    parent: int | None,
    kind: str,
    name: str,
    times: tuple[float, float | None],
    **more: Any,
) -> None:
    start, end = times
    body: dict[str, Any] = {
        "v": 1,
        "type": "span",
        "trace_id": trace,
        "span_id": f"{number:016x}",
        "name": name,
        "kind": kind,
        "started_at": at(start),
        "status": "running" if end is None else "ok",
        **more,
    }
    if end is not None:
        body["ended_at"] = at(end)
    if parent is not None:
        body["parent_span_id"] = f"{parent:016x}"
    gate.span(body)  # type: ignore[arg-type]


async def loop(gate: Gate) -> None:
    span(gate, LOOP, 1, None, "agent", "tool_loop", (0, None))
    span(gate, LOOP, 2, 1, "llm", "round 1", (0, 1))
    local = ToolCall(
        name="read_notes",
        args={"of": "acme"},
        risk="low",
        reason="The notes say more",
        call_id="call_local",
        traceparent=f"00-{LOOP}-{1:016x}-01",
    )
    decision = await gate.ask(local, timeout=60)
    if decision.allowed:
        await gate.receipt(decision, "executed", executed_args_digest=decision.args_digest, message="3 notes")
    charged = {"tokens_charged": 37, "execution_time_ms": 1_250}
    span(gate, LOOP, 3, 1, "tool", "market.summarise", (3, 4.25), call_id="call_market", usage=charged)
    span(gate, LOOP, 4, 1, "llm", "round 2", (5, 6))
    span(gate, LOOP, 1, None, "agent", "tool_loop", (0, 21), status="incomplete", attributes={"max_rounds": 2})


def subchats(gate: Gate, done: bool) -> None:
    started = {"subchats_started": ["ft_north", "ft_south"]}
    waiting: dict[str, Any] = {
        "tool_name": "hand_out",
        "thread_id": "ft_main",
        "input": {"regions": ["north", "south"]},
    }
    if done:
        span(
            gate,
            CHATS,
            2,
            1,
            "tool",
            "hand_out",
            (1, 12),
            **waiting,
            output=[{"m_type": "text", "m_content": "both are done"}],
        )
        span(gate, CHATS, 5, 2, "agent", "ask the south", (2, 11), thread_id="ft_south")
        span(gate, CHATS, 1, None, "agent", "quarterly report", (0, 13), thread_id="ft_main")
        return
    span(gate, CHATS, 1, None, "agent", "quarterly report", (0, None), thread_id="ft_main")
    text = [{"m_type": "text", "m_content": "WAIT_SUBCHATS"}]
    span(
        gate, CHATS, 2, 1, "tool", "hand_out", (1, None), **waiting, status="waiting", output=text, attributes=started
    )
    span(gate, CHATS, 3, 2, "agent", "ask the north", (2, 8), thread_id="ft_north")
    span(gate, CHATS, 4, 3, "tool", "sales.list", (3, 5), thread_id="ft_north")
    span(gate, CHATS, 5, 2, "agent", "ask the south", (2, None), thread_id="ft_south")
    span(gate, CHATS, 6, 5, "tool", "sales.sum", (4, None), thread_id="ft_south")
    # A run inside the same conversation is not a subchat.
    span(gate, CHATS, 7, 1, "agent", "proof-read", (2, 3), thread_id="ft_main")


def failed(gate: Gate, number: int, name: str, status: str, **error: Any) -> None:
    span(gate, SHAPES, number, 1, "tool", name, (number, number + 0.5), status=status, error=error)


def shapes(gate: Gate) -> None:
    failed(gate, 2, "market.buy", "error", type="BalanceError", code=402, message="12 tokens are missing")
    failed(
        gate,
        3,
        "market.refund",
        "error",
        type="CredentialError",
        code=428,
        message="not connected",
        missing_keys=["STRIPE_KEY", "STRIPE_ACCOUNT"],
    )
    failed(gate, 4, "market.export", "error", type="ToolError", code=502, message="Bad Gateway")
    failed(gate, 5, "market.index", "timeout", type="ToolError", code=504, message="no answer")
    weather = {
        "tool_name": "weather",
        "param_name": "loction",
        "issue": "Unexpected parameter",
        "suggestion": "Did you mean 'location'?",
    }
    failed(
        gate,
        6,
        "weather",
        "error",
        type="ToolValidationError",
        message="weather cannot be called like this",
        **weather,
    )
    output = [
        {"m_type": "text", "m_content": "[truncated from 9000 chars; compression failed] The report begins"},
        {"artifact_ref": "art_77"},
        {"m_type": "image/png", "m_content": "no image"},
    ]
    span(gate, SHAPES, 7, 1, "tool", "report", (7, 8), output=output)
    calls = [
        ("sales.list", "ok", 40),
        ("sales.sum", "error", 1_500),
        ("sales.drop", "denied", 0),
        ("sales.wait", "timeout", 60_000),
    ]
    record = {
        "status": "error",
        "call_trace": [{"tool": tool, "status": status, "duration_ms": ms} for tool, status, ms in calls],
    }
    span(gate, SHAPES, 8, 1, "chain", "crashed chain", (8, None), output=record)
    span(gate, SHAPES, 1, None, "agent", "all shapes", (0, 12))


async def main() -> None:
    async with Gate.connect() as gate:
        if sys.argv[1] == "loop":
            await loop(gate)
        elif sys.argv[1] == "shapes":
            shapes(gate)
        else:
            subchats(gate, sys.argv[2:] == ["done"])
    print(json.dumps({"said": sys.argv[1]}), flush=True)


asyncio.run(main())
