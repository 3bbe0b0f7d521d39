"""Feeds of the built program: deliveries that the libraries of Standard Webhooks verify, and the commands."""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
import urllib.error
import urllib.request
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


def test_what_agents_and_people_write_is_in_no_event(sent, tmp_path):
    """Arguments, results and words, also as the name of an argument; in a webhook and in a file of the whole log."""
    desk, receiver = sent
    login = str(desk.enroll("secretive"))
    folder = ["--dir", str(tmp_path / "dir")]
    gateway = subprocess.Popen(
        [BINARY, "gateway", "--agent-json", login, "--listen", "127.0.0.1:0", *folder],
        env=desk.env,
        stdout=subprocess.PIPE,
    )
    url = json.loads(gateway.stdout.readline())["url"]
    [made] = desk.cli("gateway", "token", "--name", "canary", "--agent-json", login, *folder)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def post(path: str, key: str, body: object) -> dict:
        headers = {"Authorization": f"Bearer {made['token']}", "Idempotency-Key": key}
        request = urllib.request.Request(url + path, json.dumps(body).encode(), headers, method="POST")
        try:
            with opener.open(request, timeout=SOON) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            return json.load(error)

    say = "canary-{}".format
    call = {
        "tool": "pay",
        "args": {say("name"): say("value"), "to": {"deep": [say("item")]}},
        "allowed_verdicts": ["approve", "modify", "deny", "respond"],
        "reason": say("reason"),
        "title": say("title"),
        "preview": say("preview"),
        "history": [{"role": "user", "content": say("history")}],
        "metadata": {say("metadata"): say("metadata")},
        "native": {say("native"): say("native")},
        "effective": {"fixed": {say("fixed"): say("effective")}, "injected_names": [say("injected")]},
        "run_id": say("run"),
        "thread_id": say("thread"),
        "call_id": say("call"),
        "reports": True,
    }
    answers = [
        ("approve", "--message", say("message")),
        ("approve", "--args", json.dumps({say("edited"): say("edited")}), "--message", say("message")),
        ("deny", "--message", say("message")),
        ("respond", "--content", say("content"), "--message", say("message")),
    ]
    ready = urllib.request.Request(url + "/readyz")

    def is_ready() -> bool:
        try:
            return opener.open(ready, timeout=SOON).status == 200
        except urllib.error.HTTPError:
            return False

    desk._until(is_ready)
    for number, words in enumerate(answers):
        asked = post("/v1/asks", say(number), call)
        assert "id" in asked, asked
        desk.decide("secretive", *words)
        assert post("/v1/asks?wait=50", say(number), call)["state"] == "answered"
        claim = post(f"/v1/asks/{asked['id']}/claim", say("claim"), {})
        if claim["run"]:
            report = {"stage": "failed", "executed_args": {say("ran"): 1}, "message": say("result")}
            post(f"/v1/asks/{asked['id']}/receipt", "r", report)
    gateway.terminate()
    assert gateway.wait(SOON) == 0
    desk._until(
        lambda: sum(body["data"]["agent"] == "secretive" for _, body in receiver.taken("receipt.failed")) == 2
    )
    desk._until(lambda: of_feed(desk, "soc")["pending"] == 0 and of_feed(desk, "lines")["pending"] == 0)
    decided = [body["data"] for _, body in receiver.taken("request.decided") if body["data"]["agent"] == "secretive"]
    assert [data["verdict"] for data in decided] == ["approve", "modify", "deny", "respond"]
    bodies = [body for _, body, _ in receiver.calls]
    bodies += (desk.data / "feeds/events.jsonl").read_text().splitlines()
    assert len(bodies) > 20
    for body in bodies:
        assert "canary-" not in body or json.loads(body)["type"] in ("audit.decide", "audit.hold"), body
        assert made["token"] not in body
        for word in (
            "value",
            "item",
            "reason",
            "title",
            "history",
            "effective",
            "message",
            "content",
            "result",
            "ran",
        ):
            assert say(word) not in body, body


def test_an_entry_of_the_realm_log_is_an_event(sent):
    desk, receiver = sent
    [before] = desk.cli("operators", "log")[-1:]
    [changed] = desk.cli("operators", "acceptance", "on")
    assert changed["n"] == before["n"] + 1

    def heard():
        events = [body["data"] for _, body in receiver.taken("operator.changed")]
        return [data for data in events if data["subject"] == str(changed["n"])]

    [data] = desk._until(heard)
    [entry] = desk.cli("operators", "log")[-1:]
    assert (data["action"], data["workspace"]) == ("operators", None)
    assert {name: data["detail"][name] for name in ("digest", "by", "does")} == {
        name: entry[name] for name in ("digest", "by", "does")
    }
    assert entry["digest"] == changed["digest"]
    assert data["detail"]["does"] == ["acceptance_on"]
    # The row of the whole log beside it, with the same hash.
    [row] = [body["data"] for _, body in receiver.taken("audit.operators") if body["data"]["seq"] == data["seq"]]
    assert row["hash"] == data["hash"]


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
