"""The gateway of the built program: its tokens, why it does not start, and its end while clients wait."""

from __future__ import annotations

import concurrent.futures
import json
import re
import signal
import socket
import stat
import subprocess

import pytest
from desk import BINARY, SOON, Desk


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    desk = Desk(tmp_path_factory.mktemp("gateway"))
    yield desk
    desk.close()


@pytest.fixture(scope="module")
def login(desk):
    return str(desk.enroll("ci"))


def words(login, folder, *more: str) -> list[str]:
    return [BINARY, "gateway", "--agent-json", login, "--dir", str(folder), *more]


def started(desk: Desk, login, folder, *more: str) -> tuple[subprocess.Popen, dict]:
    process = subprocess.Popen(words(login, folder, *more), env=desk.env, stdout=subprocess.PIPE)
    return process, json.loads(process.stdout.readline())


def refused(desk: Desk, login, folder, *more: str) -> str:
    """Why it ended with exit code 2, in one line."""
    done = subprocess.run(words(login, folder, *more), env=desk.env, capture_output=True, text=True, timeout=SOON)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    return done.stderr


def test_a_token_is_printed_once_listed_without_it_and_revoked(desk, login, tmp_path):
    made_for = ["--agent-json", login, "--dir", str(tmp_path / "dir")]
    [made] = desk.cli("gateway", "token", "--name", "n8n", *made_for)
    assert set(made) == {"token", "name", "agent", "callback_secret", "created_at"}
    assert re.fullmatch(r"cg_[A-Za-z0-9_-]{43}", made["token"])
    assert made["callback_secret"].startswith("whsec_")
    listed = desk.cli("gateway", "tokens", "--dir", str(tmp_path / "dir"))
    assert listed == [{"name": "n8n", "agent": "default/ci", "created_at": made["created_at"]}]
    for kept in (tmp_path / "dir").rglob("*"):
        assert not stat.S_IMODE(kept.stat().st_mode) & 0o077, kept
        assert kept.is_dir() or made["token"] not in kept.read_text()
    assert desk.code("gateway", "token", "--name", "n8n", *made_for) == 6
    assert desk.code("gateway", "token", "--name", "no name", *made_for) == 6
    assert desk.cli("gateway", "revoke", "n8n", "--dir", str(tmp_path / "dir")) == [{"name": "n8n", "revoked": True}]
    assert desk.code("gateway", "revoke", "n8n", "--dir", str(tmp_path / "dir")) == 3


def test_what_is_not_safe_or_damaged_does_not_start(desk, login, tmp_path):
    damaged = tmp_path / "damaged.json"
    damaged.write_text("{")
    assert "--allow-plain-text" in refused(desk, login, tmp_path / "dir", "--listen", "0.0.0.0:0")
    assert "second login" in refused(desk, login, tmp_path / "dir", "--agent-json", login)
    assert "damaged.json" in refused(desk, str(damaged), tmp_path / "dir")
    assert "--listen" in refused(desk, login, tmp_path / "dir", "--listen", "off")
    assert "--tls-key" in refused(desk, login, tmp_path / "dir", "--tls-cert", "cert.pem")
    assert "--callback" in refused(desk, login, tmp_path / "dir", "--callback", "http://n8n.example.org")
    (tmp_path / "file").write_text("")
    assert "file" in refused(desk, login, tmp_path / "file")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert address in refused(desk, login, tmp_path / "dir", "--listen", address)
    process, ready = started(desk, login, tmp_path / "dir", "--listen", "0.0.0.0:0", "--allow-plain-text")
    assert ready["insecure"] == ["plain_text"]
    assert "another gateway" in refused(desk, login, tmp_path / "dir", "--listen", "127.0.0.1:0")
    process.terminate()
    assert process.wait(SOON) == 0


def test_over_a_socket_of_the_file_system_host_is_not_judged_and_sigterm_ends_what_waits(desk, login, tmp_path):
    at = tmp_path / "gateway.sock"
    process, ready = started(desk, login, tmp_path / "dir", "--listen", "off", "--unix", str(at))
    assert (ready["url"], ready["agents"]) == (None, ["default/ci"])
    assert stat.S_IMODE(at.stat().st_mode) == 0o600
    dir_of = ["--dir", str(tmp_path / "dir")]
    [made] = desk.cli("gateway", "token", "--name", "ci", "--agent-json", login, *dir_of)

    def call(method: str, path: str, body: object = None) -> tuple[int, dict]:
        text = json.dumps(body) if body is not None else ""
        head = [
            f"{method} {path} HTTP/1.1",
            "Host: anything.example",
            f"Authorization: Bearer {made['token']}",
            "Idempotency-Key: k",
            f"Content-Length: {len(text)}",
            "Connection: close",
        ]
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(str(at))
            stream.sendall(("\r\n".join(head) + "\r\n\r\n" + text).encode())
            answer = b"".join(iter(lambda: stream.recv(65_536), b""))
        first, _, rest = answer.partition(b"\r\n\r\n")
        return int(first.split(b" ")[1]), json.loads(rest)

    desk._until(lambda: call("GET", "/readyz")[0] == 200)
    status, ask = call("POST", "/v1/asks", {"tool": "deploy", "args": {"to": "production"}, "timeout": 600})
    assert (status, ask["state"]) == (201, "waiting")

    def poll() -> tuple[int, dict]:
        # Once more where the look below has the last place.
        while (answer := call("GET", f"/v1/asks/{ask['id']}?wait=50"))[0] == 429:
            pass
        return answer

    with concurrent.futures.ThreadPoolExecutor(64) as threads:
        # The 65th is refused: the others wait.
        polls = [threads.submit(poll) for _ in range(64)]
        desk._until(lambda: call("GET", f"/v1/asks/{ask['id']}?wait=1")[0] == 429)
        process.send_signal(signal.SIGTERM)
        ended = [poll.result(SOON) for poll in polls]
    assert process.wait(SOON) == 0
    assert {(status, of["state"]) for status, of in ended} == {(200, "waiting")}
    # The card is open, and its answer is for the next gateway.
    desk.decide("ci", "approve")
    process, _ = started(desk, login, tmp_path / "dir", "--listen", "off", "--unix", str(at))
    desk._until(lambda: call("GET", f"/v1/asks/{ask['id']}?wait=1")[1].get("state") == "answered")
    status, claim = call("POST", f"/v1/asks/{ask['id']}/claim")
    assert (status, claim["run"], claim["args"]) == (200, True, {"to": "production"})
    # Whoever claims with the key of the ask is no other than a script that runs twice.
    assert call("POST", f"/v1/asks/{ask['id']}/claim")[0] == 409
    process.kill()
    process.wait(SOON)
