"""Metrics and health of the built program, read by both parsers of Prometheus's own client."""

from __future__ import annotations

import datetime
import http.client
import json
import os
import socket
import ssl
import subprocess
import time
import uuid

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from desk import BINARY, NATS, SOON, Desk
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as classic

OPEN = "application/openmetrics-text"
# Type and labels of each.
NAMES = {
    "countersign_build": ("info", {"version"}),
    "countersign_requests_waiting": ("gauge", {"risk"}),
    "countersign_oldest_waiting_seconds": ("gauge", set()),
    "countersign_requests": ("counter", {"risk"}),
    "countersign_requests_rejected": ("counter", set()),
    "countersign_decisions": ("counter", {"verdict", "origin"}),
    "countersign_decision_duration_seconds": ("histogram", {"risk", "le"}),
    "countersign_receipts": ("counter", {"stage"}),
    "countersign_alarms": ("gauge", {"code"}),
    "countersign_bus_connected": ("gauge", set()),
    "countersign_caught_up": ("gauge", set()),
    "countersign_read_only": ("gauge", set()),
    "countersign_panic": ("gauge", set()),
    "countersign_stream_lag_messages": ("gauge", {"stream"}),
    "countersign_outbox_decisions": ("gauge", set()),
    "countersign_agents_live": ("gauge", set()),
    "countersign_store_bytes": ("gauge", set()),
    "countersign_feed_pending_events": ("gauge", {"feed"}),
    "countersign_feed_oldest_pending_seconds": ("gauge", {"feed"}),
    "countersign_feed_deliveries": ("counter", {"feed", "result"}),
}


def get(address: str, path: str, context: ssl.SSLContext | None = None, **headers: str) -> tuple[int, str, str]:
    """Status, content type and text."""
    host, port = address.rsplit(":", 1)
    asked: http.client.HTTPConnection
    if context:
        asked = http.client.HTTPSConnection(host, int(port), timeout=SOON, context=context)
    else:
        asked = http.client.HTTPConnection(host, int(port), timeout=SOON)
    asked.request("GET", path, headers=headers)
    answer = asked.getresponse()
    text = answer.read().decode()
    asked.close()
    return answer.status, answer.headers.get("content-type", ""), text


def samples(address: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What a page says, which both parsers must read alike."""
    end = time.monotonic() + SOON
    while True:
        status, kind, page = get(address, "/metrics", Accept=OPEN)
        assert (status, kind) == (200, "application/openmetrics-text; version=1.0.0; charset=utf-8")
        opened = list(openmetrics(page))
        found = {(one.name, frozenset(one.labels.items())): one.value for of in opened for one in of.samples}
        status, kind, page = get(address, "/metrics")
        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert "# TYPE countersign_requests_total counter\n" in page
        older = list(classic(page))
        # Of a later page, where the first of something came in between.
        if {one.name for of in older for one in of.samples} == {name for name, _ in found}:
            assert {of.name for of in opened} - {of.name for of in older} <= {"countersign_build"}
            return found
        assert time.monotonic() < end, "the two forms differ"


def until(look):
    end = time.monotonic() + SOON
    while not look():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    desk = Desk(
        tmp_path_factory.mktemp("metrics"), COUNTERSIGN_METRICS="127.0.0.1:0", COUNTERSIGN_OPERATOR="canary-ana"
    )
    yield desk
    desk.close()


def ask(desk: Desk, agent: str, tool: str) -> subprocess.Popen[bytes]:
    login = desk.folder / f"{agent}.json"
    if not login.exists():
        login.write_bytes(desk.enroll(agent).read_bytes())
        login.chmod(0o600)
    words = [BINARY, "ask", "--tool", tool, "--risk", "high", "--explain", "canary-why", "--agent-json", str(login)]
    return subprocess.Popen(
        [*words, "--args", '{"canary-name": "canary-value"}'], env=desk.env, stdout=subprocess.DEVNULL
    )


def test_the_page_has_every_name_with_its_type_and_labels(tmp_path):
    desk = Desk(tmp_path, COUNTERSIGN_METRICS="127.0.0.1:0")
    page = get(desk.ready["metrics"], "/metrics", Accept=OPEN)[2]
    desk.close()
    families = {of.name: of for of in openmetrics(page)}
    # A family without a series is not on the page: no decision was made, no alarm is active, no feed is set.
    feeds = {name for name in NAMES if name.startswith("countersign_feed_")}
    seen = set(families) | {"countersign_decisions", "countersign_alarms"} | feeds
    assert seen == set(NAMES)
    for name, family in families.items():
        kind, labels = NAMES[name]
        assert family.type == kind, name
        assert set().union(*(one.labels for one in family.samples)) == labels, name
    assert sum(len(of.samples) for of in families.values()) < 400
    assert len(page) < 64 * 1024


def test_what_people_decide_is_counted_and_named_nowhere(counted):
    address = counted.ready["metrics"]
    before = samples(address)

    def grew(name: str, **labels: str) -> float:
        key = (f"countersign_{name}", frozenset(labels.items()))
        return samples(address).get(key, 0) - before.get(key, 0)

    asked = ask(counted, "canary-agent", "canary_tool")
    counted.waiting("canary-agent")
    until(lambda: grew("requests_waiting", risk="high") == 1)
    until(lambda: grew("requests_total", risk="high") == 1)
    counted.decide("canary-agent", "approve")
    assert asked.wait(SOON) == 0
    until(lambda: grew("decisions_total", verdict="approve", origin="operator") == 1)
    until(lambda: grew("requests_waiting", risk="high") == 0)
    until(lambda: grew("decision_duration_seconds_count", risk="high") == 1)
    until(lambda: grew("receipts_total", stage="received") == 1)
    denied = ask(counted, "canary-agent", "canary_tool")
    counted.decide("canary-agent", "deny", "--message", "canary-no")
    assert denied.wait(SOON) == 1
    until(lambda: grew("decisions_total", verdict="deny", origin="operator") == 1)
    # A probe counts nowhere.
    probed = ask(counted, "canary-agent", "countersign_probe")
    assert probed.wait(SOON) == 1
    # What came after it is counted.
    last = ask(counted, "canary-agent", "canary_tool")
    counted.decide("canary-agent", "deny", "--message", "canary-no")
    assert last.wait(SOON) == 1
    until(lambda: grew("decisions_total", verdict="deny", origin="operator") == 2)
    assert grew("requests_total", risk="high") == 3
    assert grew("decisions_total", verdict="deny", origin="system") == 0
    for accept in (OPEN, "*/*"):
        assert "canary" not in get(address, "/metrics", Accept=accept)[2]


def test_health_is_good_and_other_hosts_are_refused(counted):
    address = counted.ready["metrics"]
    assert get(address, "/healthz")[0] == 200
    status, kind, body = get(address, "/readyz")
    assert (status, kind, json.loads(body)) == (200, "application/json", {"ready": True, "why": []})
    assert get(address, "/metrics", Host="rebound.example")[0] == 421
    assert get(address, "/elsewhere")[0] == 404


def test_counters_start_at_0_and_what_is_stored_is_not_counted_again(tmp_path):
    desk = Desk(tmp_path, COUNTERSIGN_METRICS="127.0.0.1:0")
    asked = ask(desk, "bot", "send")
    desk.waiting("bot")
    desk.console.kill()
    desk.console.wait(SOON)
    again = Desk(tmp_path, COUNTERSIGN_METRICS="127.0.0.1:0")
    address = again.ready["metrics"]
    found = samples(address)
    assert found["countersign_requests_total", frozenset({("risk", "high")})] == 0
    assert found["countersign_requests_waiting", frozenset({("risk", "high")})] == 1
    again.decide("bot", "deny", "--message", "no")
    asked.wait(SOON)
    key = ("countersign_decisions_total", frozenset({("verdict", "deny"), ("origin", "operator")}))
    until(lambda: samples(address).get(key) == 1)
    again.close()


def test_feeds_are_counted_by_what_came_of_their_events(tmp_path):
    data = tmp_path / "data"
    data.mkdir(0o700)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = listener.getsockname()[1]
    feeds = [
        f"[[feed]]\nname = 'lines'\nkind = 'file'\npath = '{tmp_path}/lines.jsonl'\nevents = ['request.*']",
        f"[[feed]]\nname = 'soc'\nkind = 'webhook'\nurl = 'http://127.0.0.1:{closed}/'\nevents = ['request.*']",
    ]
    (data / "config.toml").write_text("\n".join(feeds))
    desk = Desk(tmp_path, COUNTERSIGN_METRICS="127.0.0.1:0")
    address = desk.ready["metrics"]

    def feed(name: str, of: str, **more: str) -> float:
        return samples(address)[f"countersign_feed_{name}", frozenset({"feed": of, **more}.items())]

    for result in ("taken", "refused", "away", "dead"):
        assert feed("deliveries_total", "lines", result=result) == 0
    asked = ask(desk, "bot", "send")
    desk.waiting("bot")
    until(lambda: feed("deliveries_total", "lines", result="taken") == 1)
    until(lambda: feed("deliveries_total", "soc", result="away") >= 1)
    until(lambda: feed("pending_events", "lines") == 0)
    assert feed("pending_events", "soc") == 1
    until(lambda: feed("oldest_pending_seconds", "soc") >= 1)
    assert feed("oldest_pending_seconds", "lines") == 0
    desk.decide("bot", "deny", "--message", "no")
    asked.wait(SOON)
    desk.close()


def test_without_settings_nothing_listens(tmp_path):
    desk = Desk(tmp_path)
    assert desk.ready["metrics"] is None
    desk.close()


def serve(tmp_path, *words: str, config: str = "") -> tuple[int, str]:
    """How `serve` ends that must not start."""
    data = tmp_path / uuid.uuid4().hex
    data.mkdir(0o700)
    (data / "config.toml").write_text(config)
    (data / "short").write_text("0123")
    (data / "token").write_text("0123456789abcdef\n")
    server = os.environ.get("COUNTERSIGN_NATS_SERVER", str(NATS))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "COUNTERSIGN_DATA_DIR": str(data)}
    env["COUNTERSIGN_NATS_SERVER"] = server
    done = subprocess.run(
        [BINARY, "--keys", "file", "serve", *words],
        env=env,
        capture_output=True,
        text=True,
        timeout=SOON,
        check=False,
    )
    assert not done.stdout, done.stdout
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ("listen = '0.0.0.0:0'", "token_file"),
        ("listen = '[::]:0'", "token_file"),
        ("listen = '0.0.0.0:0'\ntoken_file = 'token'", "tls_cert"),
        ("listen = '0.0.0.0:0'\ntoken_file = 'token'\ntls_cert = 'c'", "tls_key"),
        ("listen = '127.0.0.1:0'\ntls_key = 'c'", "tls_cert"),
        ("listen = '127.0.0.1:0'\ntls_cert = 'none'\ntls_key = 'none'", "none"),
        ("listen = '0.0.0.0:0'\nallow_plain_text = true", "token_file"),
        ("listen = '127.0.0.1:0'\ntoken_file = 'none'", "none"),
        ("listen = '127.0.0.1:0'\ntoken_file = 'short'", "short"),
        ("listen = '127.0.0.1'", "127.0.0.1:9464"),
        ("listen = '127.0.0.1:0'\ntokens = 'token'", "line 3"),
    ],
)
def test_what_is_not_safe_does_not_start(tmp_path, config, named):
    code, why = serve(tmp_path, config=f"[metrics]\n{config}\n")
    assert code == 2, why
    assert named in why, why


def test_a_port_that_is_taken_stops_serve(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, why = serve(tmp_path, "--metrics", address)
    assert code == 2, why
    assert address in why, why


def test_beyond_loopback_with_a_token_and_tls(tmp_path):
    data = tmp_path / "data"
    data.mkdir(0o700)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (data / "cert.pem").write_bytes(certificate.public_bytes(pem))
    plain = serialization.NoEncryption()
    (data / "key.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    (data / "token").write_text("0123456789abcdef\n")
    lines = [
        "[metrics]",
        "listen = '0.0.0.0:0'",
        "token_file = 'token'",
        "tls_cert = 'cert.pem'",
        "tls_key = 'key.pem'",
    ]
    (data / "config.toml").write_text("\n".join(lines))
    desk = Desk(tmp_path)
    address = "localhost:" + desk.ready["metrics"].rsplit(":", 1)[1]
    context = ssl.create_default_context(cafile=str(data / "cert.pem"))
    assert get(address, "/metrics", context)[0] == 401
    assert get(address, "/healthz", context)[0] == 200
    assert get(address, "/readyz", context, Host="desk.example")[0] == 200
    page = get(address, "/metrics", context, Authorization="Bearer 0123456789abcdef")
    assert page[0] == 200
    assert list(classic(page[2]))
    with pytest.raises((http.client.BadStatusLine, ConnectionError)):
        get(address, "/metrics")
    desk.close()
    # The flag wins over the file.
    assert serve_off(tmp_path)


def serve_off(tmp_path) -> bool:
    desk = Desk(tmp_path, COUNTERSIGN_METRICS="off")
    desk.close()
    return desk.ready["metrics"] is None
