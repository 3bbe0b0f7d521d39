"""One run of an agent as spans: models, tools, a chain, an approval that it really waits for, and what it made.

Refuses to run anything else than the decided arguments. With `--crash` it goes without ending what it began.
"""

from __future__ import annotations

import asyncio
import base64
import datetime
import json
import struct
import sys
import zlib
from typing import Any, cast

from countersign import Gate, Risk, ToolCall

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
START = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=31)


def at(seconds: float) -> str:
    moment = START + datetime.timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> float:
    return (datetime.datetime.now(datetime.UTC) - START).total_seconds()


def picture(width: int = 96, height: int = 48) -> str:
    """A PNG whose pixels are a chart, in base64."""
    rows = b"".join(
        b"\0"
        + b"".join(
            bytes((76, 195, 138) if y > height - (x * height // width) else (26, 30, 35)) for x in range(width)
        )
        for y in range(height)
    )

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return base64.b64encode(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    ).decode()


def text(content: str) -> dict[str, str]:
    return {"m_type": "text", "m_content": content}


class Run:
    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def span(
        self, name: str, kind: str, number: int, parent: int | None, start: float, end: float | None, **more: Any
    ) -> None:
        span: dict[str, Any] = {
            "v": 1,
            "type": "span",
            "trace_id": TRACE,
            "span_id": f"{number:016x}",
            "name": name,
            "kind": kind,
            "started_at": at(start),
            "run_id": "8f21",
            "status": "ok" if end is not None else "running",
            **more,
        }
        if end is not None:
            span["ended_at"] = at(end)
        if parent is not None:
            span["parent_span_id"] = f"{parent:016x}"
        self.gate.span(span)  # type: ignore[arg-type]

    def past(self) -> None:
        self.span("billing-bot: close account acme", "agent", 1, None, 0, None)
        llm = {"gen_ai.request.model": "gpt-4o", "gen_ai.request.temperature": 0.2}
        self.span(
            "gpt-4o, round 1",
            "llm",
            2,
            1,
            0,
            2.9,
            attributes=llm,
            usage={"input_tokens": 812, "output_tokens": 96, "cost_usd": 0.0041},
            output=[text("I will look the customer up first.")],
        )
        self.span(
            "crm.lookup",
            "tool",
            3,
            1,
            2.9,
            3.082,
            call_id="call_1",
            tool_name="crm.lookup",
            input={"customer": "acme", "api_key": "sk-aaaabbbbccccdddd"},
            output=[
                text("[compressed from 48211 chars] 3,412 rows in 9 tables; growth as drawn"),
                {"m_type": "image/png", "m_content": picture()},
            ],
            usage={"tokens_charged": 12, "execution_time_ms": 182},
            artifacts=[
                {
                    "url": "https://files.example/report.csv",
                    "mime_type": "text/csv",
                    "filename": "report.csv",
                    "sha256": "9f3ac01e" * 8,
                    "size": 41_220,
                    "role": "output",
                    "retention": "30d",
                }
            ],
        )
        self.span("billing.list", "tool", 4, 1, 3.1, 3.441, output={"invoices": 41, "open": 3})
        self.span(
            "gpt-4o, round 2",
            "llm",
            5,
            1,
            3.5,
            6.8,
            attributes=llm,
            usage={"input_tokens": 1_904, "output_tokens": 211, "cost_usd": 0.0093},
        )
        record = [("billing.export", "error", 812), ("billing.export", "ok", 4_300), ("send_email", "denied", 0)]
        self.span(
            "code chain, 3 of 50 calls",
            "chain",
            6,
            1,
            6.9,
            20.2,
            output={
                "status": "error",
                "call_trace": [
                    {"tool": tool, "status": status, "duration_ms": ms, "args_digest": "44136fa355b3678a"}
                    for tool, status, ms in record
                ],
            },
        )
        self.span(
            "billing.export",
            "tool",
            7,
            6,
            7.0,
            7.812,
            status="error",
            error={"type": "ToolError", "code": 502, "message": "Upstream answered 502 Bad Gateway"},
        )
        self.span(
            "billing.export (again)",
            "tool",
            8,
            6,
            9.0,
            13.3,
            usage={"tokens_charged": 1_192, "execution_time_ms": 4_300},
        )
        self.span("send_email", "tool", 9, 6, 14.0, 19.0, status="denied")
        self.span(
            "stripe.refunds",
            "tool",
            10,
            1,
            20.3,
            20.4,
            status="error",
            error={
                "type": "CredentialError",
                "code": 428,
                "message": "stripe is not connected",
                "missing_keys": ["STRIPE_SECRET_KEY", "STRIPE_ACCOUNT"],
            },
        )
        self.span(
            "weather",
            "tool",
            11,
            1,
            20.5,
            20.52,
            status="error",
            error={
                "type": "ToolValidationError",
                "message": "weather cannot be called like this",
                "tool_name": "weather",
                "param_name": "loction",
                "issue": "Unexpected parameter",
                "suggestion": "Did you mean 'location'?",
            },
        )
        self.span(
            "search.index",
            "retriever",
            12,
            1,
            20.6,
            25.6,
            status="timeout",
            error={"code": 504, "message": "no answer within 5 s"},
        )
        self.span(
            "gpt-4o, round 3",
            "llm",
            13,
            1,
            25.7,
            29.0,
            attributes=llm,
            usage={"input_tokens": 2_311, "output_tokens": 154, "cost_usd": 0.0113},
        )

    async def ask(self, risk: Risk) -> None:
        call = ToolCall(
            name="delete_customer_data",
            args={"customer": "acme", "tables": ["invoices", "contacts", "payments"], "dry_run": False},
            risk=risk,
            reason="The customer asked to be deleted",
            run_id="8f21",
            call_id="call_93Jd",
            traceparent=f"00-{TRACE}-{1:016x}-01",
        )
        asked = now()
        decision = await self.gate.ask(call, timeout=60)
        ran = now()
        if not decision.allowed:
            self.span(
                "delete_customer_data", "tool", 14, 1, asked, ran, status="denied", request_id=decision.request_id
            )
            self.span("billing-bot: close account acme", "agent", 1, None, 0, now(), status="incomplete")
            return
        await self.gate.receipt(decision, "executed", executed_args_digest=decision.args_digest, message="done")
        self.span(
            "delete_customer_data",
            "tool",
            15,
            1,
            ran,
            ran + 0.9,
            call_id="call_93Jd",
            input=decision.args,
            output=[text("3,412 rows deleted in 3 tables.")],
        )
        self.span("billing-bot: close account acme", "agent", 1, None, 0, ran + 1.0)


async def main() -> None:
    async with Gate.connect() as gate:
        run = Run(gate)
        run.past()
        if "--crash" not in sys.argv:
            await run.ask(cast(Risk, sys.argv[1]) if len(sys.argv) > 1 else "medium")
    print(json.dumps({"trace": TRACE}), flush=True)


asyncio.run(main())
