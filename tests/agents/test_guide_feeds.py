"""The guides of feeds as a reader follows them: receivers that verify, settings that a console takes, the chain."""

from __future__ import annotations

import base64
import datetime
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from desk import ROOT, SOON, Desk
from standardwebhooks import Webhook

GUIDES = ROOT / "docs/guides"
# The block's language, the file that a reader saves it in, and how it is started.
RECEIVERS = {
    "python": ("receiver.py", [sys.executable, "receiver.py"]),
    "js": ("receiver.cjs", ["node", "receiver.cjs"]),
    "go": ("receiver.go", ["go", "run", "receiver.go"]),
}


def blocks(guide: str, language: str) -> list[str]:
    page = (GUIDES / f"{guide}.md").read_text()
    return [re.sub(r"(?m)^   ", "", code) if code.startswith("   ") else code for code in found(page, language)]


def found(page: str, language: str) -> list[str]:
    return re.findall(rf"(?ms)^ *```{language}\n(.*?)^ *```$", page)


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A console with the feeds of the guides; only where they go is another place."""
    folder = tmp_path_factory.mktemp("guides")
    data, lines = folder / "data", folder / "events.jsonl"
    data.mkdir(mode=0o700)
    (data / "chat.url").touch(mode=0o600)
    (data / "chat.url").write_text("http://127.0.0.1:1/flow")
    text = "".join(code for guide in ("webhooks", "siem", "slack") for code in blocks(guide, "toml"))
    assert text.count("[[feed]]") == 5
    (data / "config.toml").write_text(text.replace("/var/log/countersign/events.jsonl", str(lines)))
    desk = Desk(folder)
    yield desk
    desk.close()


def moment_of(seconds: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pytest.mark.parametrize("language", RECEIVERS)
def test_a_receiver_takes_what_is_signed_once_and_nothing_else(tmp_path: Path, language: str) -> None:
    name, words = RECEIVERS[language]
    [code] = blocks("webhooks", language)
    (tmp_path / name).write_text(code)
    secret, at = "whsec_" + base64.b64encode(bytes(range(32))).decode(), port()
    about = {"SECRET": secret, "PORT": str(at), "HOME": str(tmp_path), "GOCACHE": str(tmp_path / "go")}
    # In a group of its own: `go run` starts a program.
    receiver = subprocess.Popen(
        words, cwd=tmp_path, env={**os.environ, **about}, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    body = json.dumps({"type": "alarm.raised", "timestamp": "2026-11-28T12:00:00.000Z", "data": {"v": 1}})

    def send(event: str, *, age: int = 0, by: str = secret, text: str = body, signature: str | None = None) -> int:
        moment = int(time.time()) - age
        signed = Webhook(by).sign(event, moment_of(moment), body)
        headers = {
            "Content-Type": "application/json",
            "webhook-id": event,
            "webhook-timestamp": str(moment),
            "webhook-signature": signature if signature is not None else signed,
        }
        client = http.client.HTTPConnection("127.0.0.1", at, timeout=SOON)
        client.request("POST", "/", text, headers)
        return client.getresponse().status

    try:
        end = time.monotonic() + 2 * SOON
        while True:
            assert receiver.poll() is None
            assert time.monotonic() < end
            try:
                socket.create_connection(("127.0.0.1", at)).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        other = "whsec_" + base64.b64encode(b"another").decode()
        assert send("evt_1") == 204
        assert send("evt_1") == 204, "again: taken, and not acted on twice"
        assert send("evt_2", by=other) == 401
        assert send("evt_2", text=body.replace("raised", "cleared")) == 401
        assert send("evt_2", age=3_600) == 401, "a replay"
        assert send("evt_2", signature="") == 401
        assert send("evt_2", signature="v1, v2,x v1,AAAA") == 401
        both = " ".join([Webhook(by).sign("evt_2", moment_of(int(time.time())), body) for by in (other, secret)])
        assert send("evt_2", signature=both) == 204, "while an old secret signs too"
        # A receiver may answer before it acts.
        late = threading.Timer(SOON, os.killpg, (receiver.pid, signal.SIGKILL))
        late.start()
        acted = [receiver.stdout.readline().strip() for _ in range(2)]
        late.cancel()
    finally:
        os.killpg(receiver.pid, signal.SIGKILL)
    rest, _ = receiver.communicate()
    assert (acted, rest) == (["alarm.raised evt_1", "alarm.raised evt_2"], "")


def test_a_console_takes_the_settings_of_the_guides_and_the_lines_prove_the_chain(desk: Desk, tmp_path: Path) -> None:
    feeds = {line["name"]: line for line in desk.cli("feeds", "list")}
    assert {name: line["kind"] for name, line in feeds.items()} == {
        "soc": "webhook",
        "pager": "webhook",
        "siem": "syslog",
        "lines": "file",
        "chat": "webhook",
    }
    assert feeds["siem"]["to"] == "tls://siem.example.org:6514"
    # The address of a chat is a secret: only scheme, host and port are shown.
    assert feeds["chat"]["to"] == "http://127.0.0.1:1"
    desk.enroll("bot")
    desk._until(lambda: next(line for line in desk.cli("feeds", "list") if line["name"] == "lines")["pending"] == 0)
    lines = Path(feeds["lines"]["to"]).read_text()
    [check] = blocks("siem", "python")
    (tmp_path / "check.py").write_text(check)

    def checked(text: str) -> subprocess.CompletedProcess:
        words = [sys.executable, str(tmp_path / "check.py")]
        return subprocess.run(words, input=text, capture_output=True, text=True, timeout=SOON)

    assert checked(lines).stdout == "the chain holds\n"
    assert len(lines.splitlines()) >= 3
    kept = lines.splitlines(keepends=True)
    for spoilt in (
        "".join(kept[:1] + kept[2:]),
        lines.replace('"action":"enroll"', '"action":"enrol1"'),
        "".join([kept[1], kept[0], *kept[2:]]),
    ):
        assert spoilt != lines
        done = checked(spoilt)
        assert done.returncode == 1, done
        assert "does not fit" in done.stderr


def test_the_message_for_a_chat_forges_nothing() -> None:
    [code] = blocks("slack", "js")
    data = {"workspace": "a", "agent": "<!channel>", "tool": "<https://evil.example|pay> &amp;", "risk": "high"}
    program = f"const $json = {json.dumps({'body': {'data': data}})};\nconst run = () => {{\n{code}\n}};\n"
    program += "console.log(run().json.text);"
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, timeout=SOON, check=True)
    assert "<" not in done.stdout
    assert ">" not in done.stdout
    assert "&lt;!channel&gt; asks for &lt;https://evil.example|pay&gt; &amp;amp; (high)" in done.stdout
