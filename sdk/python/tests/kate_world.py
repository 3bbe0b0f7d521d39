"""What the Kate SDK talks to, on the loopback address: OpenAI's and Anthropic's models, and Kate's marketplace."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

AGENT = "0f8fad5b-d9cb-469f-a165-70867728950e"
PROVIDERS = ["openai", "anthropic"]


def listed(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "description": f"{name}!", "parameters": schema}}


class World:
    """Plays `turns` of calls, (name, arguments or their text), then says "done"."""

    def __init__(self) -> None:
        self.turns: list[list[tuple[str, Any]]] = []
        self.asked: list[dict[str, Any]] = []
        self.market = [listed("weather")]
        self.executed: list[dict[str, Any]] = []
        self.result: tuple[int, Any] = (200, {"success": True, "output": "sunny", "tokens_charged": 0})
        self.status: list[dict[str, Any]] = []
        self.url = ""

    def client(self, provider: str) -> Any:
        if provider == "openai":
            return AsyncOpenAI(api_key="none", base_url=f"{self.url}/v1", max_retries=0)
        return AsyncAnthropic(api_key="none", base_url=self.url, max_retries=0)

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if path.endswith("/execute"):
            self.executed.append(body)
            return self.result
        if path.endswith("/status"):
            return 200, self.status
        if path.startswith("/tools/"):
            return 200, self.market
        if path.startswith("/agents"):
            return 200, []
        self.asked.append(body)
        turn = self.turns.pop(0) if self.turns else []
        calls = [(f"call_{len(self.asked)}_{place}", *call) for place, call in enumerate(turn)]
        text = "let me see" if calls else "done"
        return 200, (_anthropic if path == "/v1/messages" else _openai)(body["model"], text, calls)

    def read(self) -> list[tuple[str, str]]:
        """(call id, text) of the tool results that the model was shown last."""
        found = []
        for message in self.asked[-1]["messages"]:
            if message["role"] == "tool":
                found.append((message["tool_call_id"], message["content"]))
            elif isinstance(message["content"], list):
                results = [block for block in message["content"] if block["type"] == "tool_result"]
                found += [(block["tool_use_id"], block["content"]) for block in results]
        return found


def _openai(model: str, text: str, calls: list) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": ident,
                "type": "function",
                "function": {"name": name, "arguments": args if isinstance(args, str) else json.dumps(args)},
            }
            for ident, name, args in calls
        ]
    choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [choice],
        "usage": usage,
    }


def _anthropic(model: str, text: str, calls: list) -> dict[str, Any]:
    used = [{"type": "tool_use", "id": ident, "name": name, "input": args} for ident, name, args in calls]
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text}, *used],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 3},
    }


@contextmanager
def kate_world() -> Iterator[World]:
    world = World()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers["Content-Length"] or 0)
            code, answer = world.answer(self.command, self.path, json.loads(self.rfile.read(length) or "null"))
            payload = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    world.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield world
    finally:
        server.shutdown()
        server.server_close()
