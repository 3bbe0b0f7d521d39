"""A server on the loopback address that plays the APIs of models: OpenAI's responses, Anthropic's messages.

A program finds it by the variables of `environment`.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Turn = str | list[tuple[str, dict[str, Any]]]
"""One answer: a text, or calls of tools as names and arguments."""


class Model:
    """Answers with the given turns, then with "done". `asked` has each request that offered tools."""

    def __init__(self, turns: tuple[Turn, ...]) -> None:
        self.turns = list(turns)
        self.asked: list[dict[str, Any]] = []
        self.environment: dict[str, str] = {}
        self._ids = itertools.count(1)

    def next_turn(self, body: dict[str, Any]) -> Turn:
        # Requests without tools are the program's own: a title, a check of the connection.
        if not body.get("tools"):
            return "ok"
        self.asked.append(body)
        return self.turns.pop(0) if self.turns else "done"

    def new_id(self) -> str:
        return f"call_{next(self._ids)}"

    def results(self) -> list[str]:
        """What the model read as results of its calls, of Anthropic's messages."""
        found = []
        for message in self.asked[-1]["messages"]:
            for part in message["content"] if isinstance(message["content"], list) else []:
                if part.get("type") == "tool_result":
                    content = part["content"]
                    texts = content if isinstance(content, list) else [{"text": content}]
                    found.append("".join(text.get("text", "") for text in texts))
        return found


def _openai(model: Model, body: dict[str, Any]) -> dict[str, Any]:
    turn = model.next_turn(body)
    output: list[dict[str, Any]] = []
    if isinstance(turn, str):
        text = {"type": "output_text", "text": turn, "annotations": []}
        output.append(
            {"id": model.new_id(), "type": "message", "role": "assistant", "status": "completed", "content": [text]}
        )
    else:
        for name, args in turn:
            call = {"id": model.new_id(), "call_id": model.new_id(), "type": "function_call", "status": "completed"}
            output.append({**call, "name": name, "arguments": json.dumps(args)})
    return {
        "id": f"resp_{model.new_id()}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": body["model"],
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _anthropic(model: Model, body: dict[str, Any]) -> list[dict[str, Any]]:
    turn = model.next_turn(body)
    usage = {"input_tokens": 7, "output_tokens": 3}
    message = {"id": model.new_id(), "type": "message", "role": "assistant", "model": body["model"], "content": []}
    start = {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
    events: list[dict[str, Any]] = [start]
    parts: list[tuple[dict[str, Any], dict[str, Any]]] = []
    if isinstance(turn, str):
        parts.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": turn}))
    else:
        for name, args in turn:
            call = {"type": "tool_use", "id": f"toolu_{model.new_id()}", "name": name, "input": {}}
            parts.append((call, {"type": "input_json_delta", "partial_json": json.dumps(args)}))
    for index, (block, delta) in enumerate(parts):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    reason = "end_turn" if isinstance(turn, str) else "tool_use"
    events.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage})
    return [*events, {"type": "message_stop"}]


def _assembled(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The message of these events, for who asked without a stream."""
    message = dict(events[0]["message"])
    content = [dict(event["content_block"]) for event in events if event["type"] == "content_block_start"]
    for event in events:
        if event["type"] == "content_block_delta":
            delta = event["delta"]
            block = content[event["index"]]
            block.update({"text": delta["text"]} if "text" in delta else {"input": json.loads(delta["partial_json"])})
    return {**message, "content": content, "stop_reason": events[-2]["delta"]["stop_reason"]}


@contextmanager
def model_server(*turns: Turn) -> Iterator[Model]:
    """A running server, and its model."""
    model = Model(turns)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.split("?")[0]
            if path.endswith("/responses"):
                return self.send(json.dumps(_openai(model, body)))
            if path.endswith("/count_tokens"):
                return self.send('{"input_tokens": 7}')
            if not path.endswith("/messages"):
                return self.send("{}", 404)
            events = _anthropic(model, body)
            if not body.get("stream"):
                return self.send(json.dumps(_assembled(events)))
            lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
            return self.send("".join(lines), kind="text/event-stream")

        def do_GET(self) -> None:
            self.send("{}", 404)

        do_HEAD = do_GET  # noqa: N815 - the name that the library looks for

        def send(self, text: str, status: int = 200, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{server.server_address[1]}"
    model.environment = {
        "OPENAI_BASE_URL": f"{address}/v1",
        "OPENAI_API_KEY": "none",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": "none",
    }
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
