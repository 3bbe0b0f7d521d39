"""A server on the loopback address that plays OpenAI's chat completions, for frameworks that reach a model by HTTP.

A client finds it by OPENAI_BASE_URL and OPENAI_API_KEY (`environment`). Streams are not played.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Turn = list[tuple[str, dict[str, Any]]]
"""The tool calls of one answer: names and arguments."""


class ChatModel:
    """Answers with the given turns of tool calls, then with "done". `asked` has each request's messages."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = list(turns)
        self.asked: list[list[dict[str, Any]]] = []
        self.environment: dict[str, str] = {}

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(body["messages"])
        calls = self.turns.pop(0) if self.turns else []
        message: dict[str, Any] = {"role": "assistant", "content": None if calls else "done"}
        if calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{len(self.asked)}_{place}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(args)},
                }
                for place, (name, args) in enumerate(calls)
            ]
        return {
            "id": f"chatcmpl-{len(self.asked)}",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        }


@contextmanager
def chat_model(*turns: Turn) -> Iterator[ChatModel]:
    """A running `ChatModel`."""
    model = ChatModel(*turns)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            payload = json.dumps(model.answer(body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.environment = {
        "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}/v1",
        "OPENAI_API_KEY": "none",
    }
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
