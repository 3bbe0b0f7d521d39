"""What an agent makes of one decision, in a realm that a test changes."""

from __future__ import annotations

import asyncio
import json
import uuid

from countersign import Gate, ToolCall, VoidDecisionError

from conftest import SOON, Bench
from console import Key


async def asked(own: Bench, gate: Gate, **about):
    """A call that waits, and its request as the console has it."""
    request_id = str(uuid.uuid4())
    asking = asyncio.create_task(gate.ask(ToolCall(name="t", request_id=request_id, **{"risk": "medium", **about})))
    return asking, await own.console.request(request_id)


async def decided(own: Bench, seen, key=None, verdict: str = "approve", headers=None, **changes) -> None:
    console, key = own.console, key or own.console.human
    body = console.decision(seen, verdict, decided_by={"name": "x", "key": key.public}, **changes)
    payload, signed = console.signed(seen.decision_subject, body, key=key)
    await console.store(seen.decision_subject, payload, signed | (headers or {}))


async def ended(asking: asyncio.Future) -> str:
    """`runs`, another verdict, or why the decision is void."""
    try:
        decision = await asyncio.wait_for(asking, SOON)
    except VoidDecisionError as error:
        return error.code
    return "runs" if decision.allowed else decision.verdict


async def outcome(own: Bench, gate: Gate, key=None, verdict: str = "approve", headers=None, **about) -> str:
    """Of a call that this key decides."""
    asking, seen = await asked(own, gate, **about)
    await decided(own, seen, key, verdict, headers)
    return await ended(asking)


async def honest(own: Bench, gate: Gate) -> None:
    """The founder's approval runs, for an agent that is there and for one that starts."""
    assert await outcome(own, gate) == "runs"
    async with Gate.connect(own.enrolment()) as fresh:
        assert await outcome(own, fresh) == "runs"
        assert [entry.digest for entry in fresh._looks.state.chain] == own.console.log.digests
    assert [entry.digest for entry in gate._looks.state.chain] == own.console.log.digests


async def let_in(own: Bench, name: str = "Grace", **fields) -> Key:
    key = Key()
    await own.console.let_in(key, name, **fields)
    return key


async def raw(own: Bench, subject: str, headers: bytes, payload: bytes) -> int:
    """Store a message with header bytes as no library writes them; the sequence."""
    nc = own.console.nc
    inbox = nc.new_inbox()
    answers = await nc.subscribe(inbox)
    await nc.flush()
    line = f"HPUB {subject} {inbox} {len(headers)} {len(headers) + len(payload)}\r\n".encode()
    assert nc._transport is not None
    nc._transport.write(line + headers + payload + b"\r\n")
    await nc._transport.drain()
    return int(json.loads((await answers.next_msg(5)).data)["seq"])
