"""A server on the loopback address that plays a model: one call of a shell, then words."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LAST_WORDS = "That is all."


class Played:
    """Wants one shell command run; `read` is what came back as its result."""

    def __init__(self, tool: str, args: dict) -> None:
        self.tool, self.args = tool, args
        self.read: list[str] = []
        self.heard = ""
        """All that was ever sent to the model."""
        self.paths: list[str] = []
        played = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                played.paths.append(self.path)
                self.answer("application/json", json.dumps({"data": [], "models": []}))

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
                played.paths.append(self.path)
                played.heard += json.dumps(asked, ensure_ascii=False)
                self.answer(*played.answer(self.path, asked))

            def answer(self, kind: str, text: str) -> None:
                body = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, asked: dict) -> tuple[str, str]:
        if path.endswith("/responses"):
            return events(self._responses(asked), named=True)
        if ":streamGenerateContent" in path:
            return events([self._gemini(asked)])
        if ":generateContent" in path:
            return "application/json", json.dumps(self._gemini(asked))
        return events([*self._chat(asked), "[DONE]"])

    def _wants(self, offered: list[str], results: list[str]) -> bool:
        self.read += results[len(self.read) :]
        return self.tool in offered and not results

    def _responses(self, asked: dict) -> list[dict]:
        results = [as_text(item["output"]) for item in asked["input"] if item.get("type") == "function_call_output"]
        offered = [tool.get("name", "") for tool in asked.get("tools", [])]
        call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": self.tool}
        said = {"type": "message", "id": "m_1", "role": "assistant", "content": []}
        said["content"] = [{"type": "output_text", "text": LAST_WORDS, "annotations": []}]
        item = call | {"arguments": json.dumps(self.args)} if self._wants(offered, results) else said
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        response = {"id": "r_1", "object": "response", "status": "completed", "model": "played"}
        return [
            {"type": "response.created", "response": response | {"status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response | {"output": [item], "usage": usage}},
        ]

    def _gemini(self, asked: dict) -> dict:
        parts = [part for content in asked["contents"] for part in content.get("parts", [])]
        results = [json.dumps(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]
        offered = [one["name"] for tool in asked.get("tools", []) for one in tool.get("functionDeclarations", [])]
        call = {"functionCall": {"name": self.tool, "args": self.args}}
        part = call if self._wants(offered, results) else {"text": LAST_WORDS}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        content = {"role": "model", "parts": [part]}
        return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}

    def _chat(self, asked: dict) -> list[dict]:
        results = [as_text(message["content"]) for message in asked["messages"] if message["role"] == "tool"]
        offered = [tool["function"]["name"] for tool in asked.get("tools", []) if "function" in tool]
        called = {"name": self.tool, "arguments": json.dumps(self.args)}
        call = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": called}]}
        wants = self._wants(offered, results)
        delta = call if wants else {"content": LAST_WORDS}
        reason = "tool_calls" if wants else "stop"
        chunk = {"id": "c_1", "object": "chat.completion.chunk", "created": 1, "model": "played"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        delta = {"role": "assistant"} | delta
        return [
            chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
        ]


def as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def events(lines: list, *, named: bool = False) -> tuple[str, str]:
    """A stream of server-sent events."""
    text = ""
    for line in lines:
        text += f"event: {line['type']}\n" if named else ""
        text += f"data: {as_text(line)}\n\n"
    return "text/event-stream", text
