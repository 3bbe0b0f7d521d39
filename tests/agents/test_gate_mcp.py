"""`countersign doctor --gate mcp` for entries with an address (integrations, section 4.5)."""

from __future__ import annotations

import json
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from desk import BINARY


class Bank(BaseHTTPRequestHandler):
    """A server over streamable HTTP that runs every call."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append(asked | {"login": self.headers["Authorization"]})
        if "id" not in asked:
            self.send_response(202)
            self.end_headers()
            return
        result = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "b", "version": "1"},
            },
            "tools/list": {"tools": []},
        }.get(asked["method"], {"content": []})
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_response(405)
        self.end_headers()

    def log_message(self, *_words) -> None:
        pass


@pytest.fixture
def bank():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bank)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@contextmanager
def listening(desk, url: str):
    """Our proxy in front of a server, for clients over HTTP; its address."""
    words = [BINARY, "--json", "mcp-proxy", "--url", url, "--listen", "127.0.0.1:0"]
    proxy = subprocess.Popen(words, env=desk.env, stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(proxy.stdout.readline())["url"]
    finally:
        proxy.terminate()
        proxy.wait(30)


def test_an_entry_with_an_address_holds_only_through_the_proxy(desk, tmp_path, bank):
    url = f"http://127.0.0.1:{bank.server_port}/mcp"
    file = tmp_path / "mcp.json"

    def prove(entry: dict) -> dict:
        file.write_text(json.dumps({"mcpServers": {"bank": entry}}))
        return proved()

    def proved() -> dict:
        words = [BINARY, "--json", "doctor", "--gate", "mcp", "--file", str(file), "--server", "bank"]
        done = subprocess.run(words, env=desk.env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        reported = json.loads(done.stdout)
        assert (done.returncode == 0) == reported["holds"], reported
        return reported

    around = prove({"type": "http", "url": url})
    assert (around["holds"], around["verdict"], around["ran"]) == (False, "none", True)
    assert around["why"] == "server bank does not go through countersign mcp-proxy"
    assert around["fix"] == f"countersign connect mcp --file {file} --server bank"
    prove({"type": "http", "url": url, "headers": {"Authorization": "Bearer s3cret"}})
    bank.seen.clear()
    desk.cli("connect", "mcp", "--file", str(file), "--server", "bank")
    assert (proved()["holds"], proved()["verdict"], proved()["why"]) == (True, "deny", None)
    assert {asked["login"] for asked in bank.seen} == {"Bearer s3cret"}
    assert "s3cret" not in json.dumps(json.loads(file.read_text())["mcpServers"]["bank"]["args"])
    with listening(desk, url) as address:
        assert (prove({"url": address})["holds"], prove({"url": address})["verdict"]) == (True, "deny")
    gone = prove({"url": address})
    assert (gone["holds"], gone["verdict"]) == (False, "error")
    assert "cannot be asked" in gone["why"]
    assert not any("countersign_probe" in json.dumps(asked) for asked in bank.seen)
