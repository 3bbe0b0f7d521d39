"""What the console accepts, `docs/verify-audit.py` accepts too; and what it says of bundles that prove little."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import nats
import pytest
from countersign import Enrolment, Gate
from countersign.realm import Realm

from console import Key
from nats_server import REPOSITORY
from played import Played, b64, ended, listed, record
from test_console import SECONDS, RealConsole

SCRIPT = REPOSITORY / "docs/verify-audit.py"
MANY_DIGITS = "1" * 5000
UNSEEN = "whoever can write the console's file can have cut or rewritten it unseen"


def request(enrolment: Enrolment, request_id: str, **more: object) -> dict:
    now = datetime.now(UTC)
    stamps = {
        name: (now + timedelta(seconds=after)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        for name, after in (("requested_at", 0), ("expires_at", 300))
    }
    whose = {"workspace": enrolment.workspace, "agent": {"name": enrolment.agent}}
    return {"v": 1, "request_id": request_id, "risk": "low", **whose, **stamps, **more}


@contextlib.asynccontextmanager
async def logged_in(console: RealConsole, enrolment: Enrolment):
    """Connections that send what no client of ours does: the agent's, and the console's."""
    url, inbox = enrolment.nats_url, enrolment.inbox_prefix.encode()
    agent = await nats.connect(url, nkeys_seed_str=enrolment.nkey_seed, inbox_prefix=inbox)
    bus = await nats.connect(url, nkeys_seed=str(console.log.parent / "keys/login.nk"))
    try:
        yield agent, bus
    finally:
        await agent.close()
        await bus.close()


@pytest.fixture(scope="module")
async def bundle(tmp_path_factory: pytest.TempPathFactory):
    """The lines of a bundle that holds whatever the protocol leaves to agents, and a removed key of the policy."""
    console = RealConsole(tmp_path_factory.mktemp("console"))
    await console.start()
    enrolment = Enrolment.load(console.ready["agent_json"])
    place, whose = f"{enrolment.workspace}.{enrolment.agent}", f"{enrolment.workspace}/{enrolment.agent}"
    try:
        key = {"bs_name": "confirm_hire", "bs_type": "bool", "bs_default": True, "bs_group": "Safety"}
        async with Gate.connect(enrolment, setup_schema=[key]), asyncio.timeout(SECONDS):
            while "confirm_hire" not in await console.done("setup", "list"):
                pass
        await console.done("setup", "set", whose, "confirm_hire", "false")
        none = tmp_path_factory.mktemp("rules") / "none.toml"
        none.write_text("schema = 1\n")
        await console.done("rules", "apply", str(none), "--workspace", str(enrolment.workspace))
        async with logged_in(console, enrolment) as (agent, bus):

            async def ask(body: dict, old: str = "", new: str = "") -> None:
                payload = json.dumps(body).replace(old, new).encode()
                await agent.request(f"countersign.v1.request.{place}.{body['request_id']}", payload, timeout=SECONDS)
                await console.show(body["request_id"], "state", "pending")

            question = {"text": "Which?", "allow_freeform": True}
            verdicts = ["respond", "skip", "terminate"]
            asked = request(enrolment, "q", kind="question", question=question, allowed_verdicts=verdicts)
            await ask({**asked, "args": {"why": "no digest is asked for"}})
            await console.done("respond", "q", "--content", "this one")
            empty = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
            call = {"kind": "tool_call", "tool": {"name": "t"}, "args": {}, "args_digest": empty, "risk": "critical"}
            call |= {"allowed_verdicts": ["approve", "deny"], "native": {"n": "#"}, "metadata": {"n": "#"}}
            await ask(request(enrolment, "digits", **call), '"#"', MANY_DIGITS)
            await console.done("approve", "digits")

            js = bus.jetstream()
            await (await js.key_value("CS_POLICY")).delete(f"rules.{enrolment.workspace}")
            await js.publish(f"countersign.v1.decision.{place}.never-asked", b"junk")

        async def there() -> list[dict]:
            await console.done("audit", "export", "--out", str(file), "--force")
            return [json.loads(line) for line in file.read_text().splitlines()]

        file, lines = tmp_path_factory.mktemp("bundle") / "bundle.jsonl", []
        wanted = {
            ("policy", f"rules.{enrolment.workspace}"),
            ("decision", f"{whose}/never-asked"),
            ("decision", f"{whose}/digits"),
        }
        async with asyncio.timeout(SECONDS):
            while True:
                lines = await there()
                rows = [line for line in lines if line["type"] == "audit"]
                reported = {
                    (row["action"], row["subject"])
                    for row in rows
                    if row["action"] != "policy" or "deleted" in row["detail"]
                }
                if wanted <= reported and any(line["type"] == "anchor" for line in lines):
                    break
    finally:
        await console.stop()
    return lines


def counted(lines: list[dict]) -> list[dict]:
    """With an end that fits what was left out."""
    names = lines[-1]["counts"]
    counts = {name: sum(line["type"] == name for line in lines) for name in names}
    return [*lines[:-1], {**lines[-1], "counts": counts}]


def verdict(lines: list[dict], folder: Path) -> tuple[int, str]:
    """Exit code and standard error of the script."""
    file = folder / "bundle.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    done = subprocess.run([sys.executable, SCRIPT, file], capture_output=True, text=True)
    return done.returncode, done.stderr


def test_what_the_protocol_leaves_to_agents_and_a_removed_key_are_as_they_were_written(bundle, tmp_path):
    code, err = verdict(bundle, tmp_path)
    assert (code, UNSEEN in err) == (0, False), err


def without_anchors(lines: list[dict]) -> list[dict]:
    return counted([line for line in lines if line["type"] != "anchor"])


def read_here(lines: list[dict]) -> list[dict]:
    return [{**lines[0], "anchors_from_bus": False}, *lines[1:]]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (without_anchors, "no anchor is in it"),
        (read_here, "its anchors were not read from the bus"),
    ],
)
def test_a_bundle_whose_anchors_prove_little_says_so(bundle, tmp_path, change: Callable, why: str):
    code, err = verdict(change(bundle), tmp_path)
    assert (code, f"{why}: {UNSEEN}" in err) == (0, True), err


def test_what_lies_after_the_last_anchor_is_told(bundle, tmp_path):
    rows = [line["seq"] for line in bundle if line["type"] == "audit"]
    assert len(rows) > 1
    _, err = verdict(without_anchors(bundle), tmp_path)
    assert "what lies after row 0 is not anchored" in err


def test_an_anchor_that_is_no_json_is_told_as_one_that_nobody_signed(bundle, tmp_path):
    junk = base64.urlsafe_b64encode(b"junk").decode().rstrip("=")
    lines = [{**line, "payload": junk} if line["type"] == "anchor" else line for line in bundle]
    sequence = next(line["stream_seq"] for line in bundle if line["type"] == "anchor")
    expected = f"not as it was written: anchor CS_AUDIT/{sequence}: no key of this console has signed it\n"
    assert verdict(lines, tmp_path) == (1, expected)


def script():
    spec = importlib.util.spec_from_file_location("verify_audit", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_vote_that_does_not_count_does_no_harm():
    key, path, realm = Key(), "acme.bot.r1", "a realm"
    subject = f"countersign.v1.vote.{path}.{key.public}"
    decision = {"verdict": "approve", "request_digest": "r", "args_digest": "a"}
    payload = json.dumps({**decision, "decided_by": {"key": key.public}}).encode()
    vote = {"subject": subject, "key": key.public, "sig": key.sign("vote", realm, subject, payload)}
    vote["payload"] = base64.urlsafe_b64encode(payload).decode().rstrip("=")
    auditor, place = script().Bundle([]), (5, False)
    auditor.realm = realm
    auditor.log.terms = {key.public: [{"operator": key.public, "role": "human", "since": 1, "until": None}]}
    assert auditor.counts_vote(vote, path, decision, place)
    broken = [vote | {name: wrong} for name in vote for wrong in (None, 7, "", "é")]
    for other in [*broken, {}, None, [], "vote"]:
        assert not auditor.counts_vote(other, path, decision, place), other
    assert not auditor.counts_vote(vote, path, decision, (1, False)), "before its term"
    auditor.log.terms = {}
    assert not auditor.counts_vote(vote, path, decision, place), "of a key that nobody knows"


def test_the_script_and_an_agent_make_the_same_terms_of_a_log():
    ada, auto, grace, second, kay = (Key() for _ in range(5))
    realm = "a realm"
    log = Played(realm, ada, auto)
    log.add(ada, operators=[record(realm, grace, "Grace"), record(realm, kay, "Kay", limits={"max_risk": "low"})])
    log.add(grace, operators=[record(realm, grace, "Grace", listed(realm, second, "human", grace))])
    log.add(ada, operators=[record(realm, kay, "Kay")])
    log.add(second, operators=ended(grace))
    auditor, state = script().Bundle([]), Realm(realm, log.digests[0])
    auditor.realm = realm
    for n, message in enumerate(log.messages, 1):
        assert state.apply(n, 10 * n, message) == "ok"
        line = {"n": n, "seq": 10 * n, "word": "ok", "digest": log.digests[n - 1], "message": b64(message)}
        auditor.log.entry(line)
    terms = {
        key: [(term["operator"], term["since"], term["until"]) for term in terms]
        for key, terms in auditor.log.terms.items()
    }
    assert terms == {
        key: [(term.operator, term.since, term.until) for term in terms] for key, terms in state.terms.items()
    }
    with pytest.raises(Exception, match="follow"):
        auditor.log.entry(line)
