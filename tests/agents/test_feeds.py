"""Feeds of the built program: deliveries that the libraries of Standard Webhooks verify, and the commands."""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from desk import BINARY, ROOT, SOON, Desk
from standardwebhooks import Webhook, WebhookVerificationError

# The reference library for JavaScript; each line of the input is one delivery.
VERIFY = """
const { createRequire } = await import("node:module");
const { Webhook } = createRequire(process.argv[1])("standardwebhooks");
const calls = JSON.parse((await import("node:fs")).readFileSync(0, "utf8"));
const types = calls.map(({ secret, body, headers }) => new Webhook(secret).verify(body, headers).type);
console.log(JSON.stringify(types));
"""


class Receiver:
    """Answers with a status that a test sets, and keeps what it was sent."""

    def __init__(self) -> None:
        self.status = 204
        self.calls: list[tuple[dict[str, str], str, int]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                receiver.calls.append(
                    ({name.lower(): of for name, of in self.headers.items()}, body, receiver.status)
                )
                self.send_response(receiver.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def taken(self, kind: str) -> list[tuple[dict[str, str], dict]]:
        bodies = [(headers, json.loads(body)) for headers, body, status in self.calls if status < 300]
        return [(headers, body) for headers, body in bodies if body["type"] == kind]

    def close(self) -> None:
        self._server.shutdown()


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    folder = tmp_path_factory.mktemp("feeds")
    data = folder / "data"
    data.mkdir(mode=0o700)
    receiver = Receiver()
    (data / "config.toml").write_text(
        f"""
[[feed]]
name = "soc"
kind = "webhook"
url = "{receiver.url}"
events = ["*"]
retry_s = [0.1]
rest_s = [0.1]

[[feed]]
name = "lines"
kind = "file"
path = "feeds/events.jsonl"
events = ["audit.*"]
"""
    )
    desk = Desk(folder)
    yield desk, receiver
    desk.close()
    receiver.close()


def of_feed(desk: Desk, name: str) -> dict:
    [line] = [line for line in desk.cli("feeds", "list") if line["name"] == name]
    return line


def test_the_reference_libraries_verify_each_delivery_and_ids_can_be_recomputed(sent):
    desk, receiver = sent
    login = desk.enroll("bot")
    words = [BINARY, "ask", "--tool", "pay", "--risk", "high", "--args", "{}", "--agent-json", str(login)]
    asked = subprocess.Popen(words, env=desk.env, stdout=subprocess.DEVNULL)
    desk.decide("bot", "approve")
    assert asked.wait(SOON) == 0
    desk._until(lambda: receiver.taken("receipt.received"))
    [old] = desk.cli("feeds", "secret", "soc")
    before = list(receiver.calls)
    [new] = desk.cli("feeds", "rotate", "soc")
    assert new["secret"] != old["secret"]
    assert new["old_until"]
    assert desk.cli("feeds", "secret", "soc") == [{"feed": "soc", "secret": new["secret"]}]
    [tried] = desk.cli("feeds", "test", "soc")
    assert (tried["ok"], tried["status"], tried["error"]) == (True, 204, None)
    [test] = [call for call in receiver.calls if '"feed.test"' in call[1]]
    # While both secrets count, both sign.
    deliveries = [(old["secret"], call) for call in [*before, test]] + [(new["secret"], test)]
    given, types = [], []
    for secret, (headers, body, _) in deliveries:
        types.append(Webhook(secret).verify(body, headers)["type"])
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body.replace('"v":1', '"v":2'), headers)
        given.append({"secret": secret, "body": body, "headers": headers})
    node = ["node", "--input-type=module", "-e", VERIFY, str(ROOT / "ui/package.json")]
    done = subprocess.run(node, input=json.dumps(given), capture_output=True, text=True, timeout=SOON, check=True)
    assert json.loads(done.stdout) == types
    assert {"request.waiting", "request.decided", "receipt.received", "audit.enroll", "feed.test"} <= set(types)
    for headers, text, _ in before:
        body = json.loads(text)
        kind, data = body["type"], body["data"]
        if kind.startswith(("request.", "receipt.")):
            parts = [f"{data['workspace']}/{data['agent']}/{data['request_id']}"]
            if kind == "request.waiting":
                parts.append(data["request_digest"])
            elif kind == "request.decided":
                parts += [data["decision_id"], data["verdict"]]
            else:
                continue  # Of a receipt the digest of its payload counts, which is on the bus.
        else:
            parts = [data["hash"]]
        unique = "\n".join([data["realm"], kind, "\n".join(parts)])
        assert headers["webhook-id"] == "evt_" + hashlib.sha256(unique.encode()).hexdigest()[:32], kind


def test_what_was_not_taken_is_listed_sent_again_and_enabled_again(sent):
    desk, receiver = sent
    receiver.status = 400
    desk.enroll("refused")

    def dead():
        return [line for line in desk.cli("feeds", "failed", "soc") if line["state"] == "dead"]

    first = desk._until(dead)[0]
    assert (first["tries"], first["last_error"]) == (2, "400")
    receiver.status = 204
    desk._until(lambda: of_feed(desk, "soc")["state"] == "ok" and of_feed(desk, "soc")["pending"] == 0)
    assert [alarm["subject"] for alarm in desk.cli("status")[0]["alarms"] if alarm["code"] == "feed_failing"] == [
        "soc"
    ]
    seen = len(receiver.calls)
    assert desk.cli("feeds", "replay", "soc", "--id", first["id"]) == [{"feed": "soc", "events": 1}]
    desk._until(lambda: any(headers["webhook-id"] == first["id"] for headers, _, _ in receiver.calls[seen:]))
    [again] = desk.cli("feeds", "replay", "soc", "--since", "1h")
    assert again["events"] > 10
    desk._until(lambda: of_feed(desk, "soc")["pending"] == 0)
    assert of_feed(desk, "soc")["dead"] == 0
    # None is dead any more: the next one that is taken ends the alarm.
    desk._until(lambda: not [alarm for alarm in desk.cli("status")[0]["alarms"] if alarm["code"] == "feed_failing"])
    receiver.status = 410
    desk.enroll("gone")
    desk._until(lambda: of_feed(desk, "soc")["state"] == "disabled")
    receiver.status = 204
    assert desk.cli("feeds", "enable", "soc") == [{"feed": "soc", "state": "ok"}]
    desk._until(lambda: of_feed(desk, "soc")["pending"] == 0)
    # What belongs to no webhook, and what no section names.
    for words, code in [
        (["secret", "lines"], 6),
        (["rotate", "lines"], 6),
        (["failed", "none"], 3),
        (["test", "none"], 3),
        (["replay", "soc", "--id", "evt_none"], 3),
    ]:
        assert desk.code("feeds", *words) == code, words
    lines = [json.loads(line) for line in (desk.data / "feeds/events.jsonl").read_text().splitlines()]
    seqs = [line["data"]["seq"] for line in lines]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
