"""A double of CommonGround v1r4: its two streams, its HTTP API with cards and edges, and a reporter of jobs.

It knows nothing of Countersign but the subject on which reports are asked for.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import nats
from nats.js.api import StreamConfig

PROJECT, CHANNEL = "p1", "ch1"


class Api:
    """Cards, edges and tools over HTTP. `away` answers 503, `cards_away` where a card is read."""

    def __init__(self) -> None:
        self.cards: dict[tuple[str, str], dict] = {}
        self.answered: set[str] = set()
        self.tools: list[bytes] = []
        self.away = self.cards_away = False
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlparse(self.path)
                parts = url.path.strip("/").split("/")
                if api.away or (api.cards_away and parts[2] == "cards"):
                    self.reply(503, {"detail": "starting"})
                elif parts[2] == "cards":
                    card = api.cards.get((parts[1], parts[3]))
                    self.reply(200 if card is not None else 404, card if card is not None else {"detail": "none"})
                elif parts[2:] == ["state", "execution", "edges"]:
                    call = parse_qs(url.query)["correlation_id"][0]
                    row = {"edge_id": "e1", "primitive": "report", "edge_phase": "response", "correlation_id": call}
                    self.reply(200, [row] if call in api.answered else [])
                else:
                    self.reply(404, {})

            def do_POST(self) -> None:
                api.tools.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.reply(201, {})

            def reply(self, status: int, body: object) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class CommonGround:
    """The bus and the API of one installation."""

    def __init__(self, folder: Path, nats_server: str) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        self.url = f"nats://127.0.0.1:{port}"
        command = [nats_server, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.api = Api()
        self.jobs: list[dict] = []
        self.answers: list[dict] = []
        """What the reporter answers next; without one: reported."""

    async def start(self) -> None:
        for _ in range(100):
            try:
                self.nc = await nats.connect(self.url, connect_timeout=1, max_reconnect_attempts=1)
                break
            except Exception:
                await asyncio.sleep(0.05)
        self.js = self.nc.jetstream()
        await self.js.add_stream(StreamConfig("cg_cmd_v1r4", subjects=["cg.v1r4.*.*.cmd.>"]))
        await self.js.add_stream(StreamConfig("cg_evt_v1r4", subjects=["cg.v1r4.*.*.evt.>"]))
        await self.nc.subscribe("countersign.bridge.*.report", cb=self.report)

    async def report(self, message) -> None:
        self.jobs.append(json.loads(message.data))
        answer = self.answers.pop(0) if self.answers else {"status": "reported", "tool_result_card_id": "r1"}
        await message.respond(json.dumps(answer).encode())

    def card(self, call: str, *, project: str = PROJECT, tool: str = "send_mail", **changed) -> str:
        """A tool.call card; `changed` replaces its fields."""
        card = {
            "project_id": project,
            "card_id": f"card-{call}",
            "type": "tool.call",
            "content": {
                "tool_name": tool,
                "arguments": {"to": "ada@hallberg.example", "cc": None},
                "status": "called",
            },
            "created_at": "2026-11-26T10:00:00Z",
            "author_id": "agent-7",
            "metadata": {"agent_turn_id": "t1", "tool_call_id": call, "step_id": "s1", "trace_id": "0" * 31 + "1"},
            "tool_call_id": call,
            **changed,
        }
        self.api.cards[project, card["card_id"]] = card
        return card["card_id"]

    async def command(
        self,
        call: str,
        *,
        gate: str = "send_mail",
        project: str = PROJECT,
        tool: str = "send_mail",
        payload: object = None,
        **headers: str | None,
    ):
        """A command at a gate. A header given as None is left out."""
        if payload is None:
            payload = {"tool_call_card_id": f"card-{call}", "tool_name": tool, "after_execution": "suspend"}
        sent = {"CG-Agent-Id": "agent-7", "CG-Tool-Call-Id": call, "CG-Turn-Id": "t1", "CG-Step-Id": "s1"}
        for name, value in headers.items():
            sent[name if name.startswith("trace") else "CG-" + name.replace("_", "-")] = value
        sent = {name: value for name, value in sent.items() if value is not None}
        subject = f"cg.v1r4.{project}.{CHANNEL}.cmd.tool.approval.{gate}"
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        return await self.js.publish(subject, data, headers=sent)

    async def event(self, suffix: str, body: object, *, project: str = PROJECT, **headers: str) -> None:
        subject = f"cg.v1r4.{project}.{CHANNEL}.evt.agent.agent-7.{suffix}"
        await self.js.publish(subject, json.dumps(body).encode(), headers=headers or None)

    async def forwarded(self, call: str, subject: str = "cg.v1r4.p1.ch1.cmd.tool.mail.send") -> list:
        """The messages of a call that reached its tool."""
        last = (await self.js.stream_info("cg_cmd_v1r4")).state.last_seq
        found = []
        for sequence in range(1, last + 1):
            try:
                message = await self.js.get_msg("cg_cmd_v1r4", sequence)
            except nats.js.errors.NotFoundError:
                continue
            if message.subject == subject and message.headers.get("CG-Tool-Call-Id") == call:
                found.append(message)
        return found

    async def stop(self) -> None:
        await self.nc.close()
        self.api.server.shutdown()
        self.process.terminate()
        self.process.wait(10)
