"""A server on the loopback address that plays the model of Claude Code (messages API, streamed).

The prompt is the script: `RUN ` and JSON with a name and turns, each a list of calls `[tool, input]`. After the last
turn the model says `done`. What the model reads of its calls is kept by the script's name.
"""

from __future__ import annotations

import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model:
    def __init__(self) -> None:
        self.read: dict[str, list[dict]] = {}
        self.sent: dict[str, list[dict]] = {}
        self.bodies: list[dict] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_) -> None:
                pass

            def do_HEAD(self) -> None:
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
                    self._send("{}", "application/json")
                elif body.get("stream"):
                    self._send(streamed(model.answer(body)), "text/event-stream")
                else:
                    self._send(json.dumps(message(model.answer(body))), "application/json")

            def _send(self, answer: str, kind: str) -> None:
                text = answer.encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: dict) -> list[dict]:
        self.bodies.append(body)
        done = [{"type": "text", "text": "done"}]
        texts = [text for message in body["messages"] if message["role"] == "user" for text in texts_of(message)]
        scripts = [script for text in texts if (script := script_of(text))]
        if not scripts or not body.get("tools"):
            return done
        script = scripts[-1]
        results = [
            part
            for message in body["messages"]
            if message["role"] == "user" and isinstance(message["content"], list)
            for part in message["content"]
            if part.get("type") == "tool_result"
        ]
        self.read[script["name"]] = results
        self.sent[script["name"]] = body["messages"]
        turn = sum(
            any(part.get("type") == "tool_use" for part in message["content"])
            for message in body["messages"]
            if message["role"] == "assistant" and isinstance(message["content"], list)
        )
        if turn >= len(script["turns"]):
            return done
        return [
            {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:24]}", "name": name, "input": given}
            for name, given in script["turns"][turn]
        ]

    def reported(self, name: str) -> str:
        """What the model read of the calls of a script, as one text."""
        return json.dumps(self.read.get(name, []), ensure_ascii=False)


def script_of(text: str) -> dict | None:
    """A script, also of the prompt with which `doctor --gate NAME --run` starts a program."""
    if text.startswith("RUN "):
        return json.loads(text[4:])
    if (reported := text.removeprefix("Run this shell command once and nothing else: ")) != text:
        return {"name": "probe", "turns": [[["Bash", {"command": reported.splitlines()[0]}]]]}
    return None


def texts_of(message: dict) -> list[str]:
    content = message["content"]
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content if part.get("type") == "text"]


def message(content: list[dict]) -> dict:
    called = any(part["type"] == "tool_use" for part in content)
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": content,
        "stop_reason": "tool_use" if called else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def streamed(content: list[dict]) -> str:
    whole = message(content)
    events: list[dict] = [{"type": "message_start", "message": whole | {"content": [], "stop_reason": None}}]
    for at, part in enumerate(content):
        if part["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": part["text"]}
        else:
            start = part | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
        events.append({"type": "content_block_start", "index": at, "content_block": start})
        events.append({"type": "content_block_delta", "index": at, "delta": delta})
        events.append({"type": "content_block_stop", "index": at})
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}})
    events.append({"type": "message_stop"})
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
