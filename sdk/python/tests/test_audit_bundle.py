"""What the console accepts, `docs/verify-audit.py` accepts too; and what it says of bundles that prove little."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
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
from countersign.records import slot_of
from countersign.signature import decode_base64url

from console import Key, b64
from nats_server import REPOSITORY
from played import listed, record, sealed
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


def module(name: str):
    """A file of `docs/`, which imports those beside it."""
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        spec = importlib.util.spec_from_file_location(name.replace("-", "_"), SCRIPT.parent / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
    finally:
        sys.path.remove(str(SCRIPT.parent))
    return loaded


VECTORS = json.loads((REPOSITORY / "docs/protocol/vectors/realm-log.json").read_text())
DEVICES = json.loads((REPOSITORY / "docs/protocol/vectors/devices.json").read_text())


def raw(sent: dict) -> bytes:
    """The bytes of a message of a vector."""
    return sent["payload"].encode() if "payload" in sent else decode_base64url(sent["payload_base64url"])


@pytest.mark.parametrize("log", VECTORS["logs"], ids=lambda log: log["name"])
def test_the_auditors_fold_makes_of_a_log_what_the_vectors_say(log: dict):
    fold = module("realm_fold")
    state = fold.Fold(VECTORS["realm"], log["root"])
    slots = [(slot_of(sent["subject"]), sent) for sent in log["messages"]]
    words = [state.apply(slot, sent["seq"], raw(sent)) for slot, sent in slots if slot is not None]
    assert words == [sent["word"] for slot, sent in slots if slot is not None]
    expected = log["expect"]
    assert state.chain == [entry["digest"] for entry in expected["chain"]]
    found = (state.acceptance, state.recovery, state.next_slot)
    assert found == (expected["acceptance"], expected["recovery"], expected["next_slot"])
    keys = {who: {key["key"] for key in record["keys"]} for who, record in state.operators.items()}
    assert keys == {who: set(record["keys"]) for who, record in expected["operators"].items()}
    for decision in log["decisions"]:
        behind = sum(entry["seq"] < decision["seq"] for entry in expected["chain"])
        risk = decision["risk"] if decision["risk"] in fold.RISKS else "critical"
        asked = decision["workspace"], risk, decision["effects"], decision["verifies"]
        term = state.term(decision["key"], behind)
        word = fold.fault(term, decision["verdict"], decision["origin"], asked, decision["at"])
        assert word == decision["console"], decision


@pytest.mark.parametrize("case", DEVICES["signatures"], ids=lambda case: case["name"])
def test_the_auditor_checks_signatures_of_devices_as_the_vectors_say(case: dict):
    held = module("signed_json").device_holds(
        case["record"],
        case["operator"],
        case["context"],
        DEVICES["realm"],
        case["subject"],
        case["payload"].encode(),
        case["sig"],
    )
    assert held is case["holds"]


REALM = VECTORS["realm"]
ADA, GRACE = (Key(secret=bytes([byte]) * 32) for byte in (1, 2))
PATH, AT, FACTS = "acme.bot.r1", "2026-11-25T12:00:00.000Z", ("acme", "low", "write", ())
DECISION = {"verdict": "approve", "request_digest": "r", "args_digest": "a"}


def state_of(*changes: dict):
    """A fold that Ada founded, and that has these changes."""
    fold = module("realm_fold").Fold(REALM, None)
    for change in ({"operators": [record(REALM, ADA, "Ada", admin=True)]}, *changes):
        head = fold.chain[-1] if fold.chain else None
        frame = {"v": 1, "n": len(fold.chain) + 1, "prev": head, "at": "x", "by": ADA.public, "policy": None}
        payload = json.dumps({**frame, **change}).encode()
        fold.root = fold.root or f"sha256:{hashlib.sha256(payload).hexdigest()}"
        assert fold.link(sealed(REALM, ADA, payload)) == "ok"
    return fold


def vote_of(key: Key) -> dict:
    subject = f"countersign.v1.vote.{PATH}.{key.public}"
    payload = json.dumps({**DECISION, "decided_by": {"key": key.public}}).encode()
    sig = key.sign("vote", REALM, subject, payload)
    return {"subject": subject, "key": key.public, "sig": sig, "payload": b64(payload)}


def auditor_of(fold):
    """Of a bundle with these entries, each at a sequence of ten times its number."""
    auditor = module("verify-audit").Bundle()
    auditor.realm, auditor.log = REALM, fold
    auditor.sequences = [10 * n for n, _ in enumerate(fold.chain, 1)]
    auditor.places = dict.fromkeys(("acme/bot/r1",))
    return auditor


def voter(auditor, vote: object, sequence: int) -> str | None:
    auditor.places["acme/bot/r1"] = sequence
    return auditor.voter(vote, DECISION, ("acme/bot/r1", sequence, FACTS, AT))


def test_a_vote_that_does_not_count_does_no_harm():
    auditor, vote = auditor_of(state_of()), vote_of(ADA)
    assert voter(auditor, vote, 11) == ADA.public
    broken = [vote | {name: wrong} for name in vote for wrong in (None, 7, "", "é")]
    for other in [*broken, {}, None, [], "vote"]:
        assert voter(auditor, other, 11) is None, other
    assert voter(auditor, vote, 10) is None, "before the key counts"
    assert voter(auditor, vote_of(GRACE), 11) is None, "of a key that nobody knows"


def test_keys_of_one_operator_are_one_voter():
    keys = [listed(REALM, key, "human", ADA) for key in (ADA, GRACE)]
    auditor = auditor_of(state_of({"operators": [record(REALM, ADA, "Ada", admin=True) | {"keys": keys}]}))
    for sequence, voters in ((20, {ADA.public, None}), (21, {ADA.public})):
        assert {voter(auditor, vote_of(key), sequence) for key in (ADA, GRACE)} == voters, sequence


def entries(lines: list[dict]) -> list[dict]:
    return [line for line in lines if line["type"] == "entry"]


def without_last_entry(lines: list[dict]) -> list[dict]:
    last = entries(lines)[-1]
    return counted([line for line in lines if line is not last])


def before_every_entry(lines: list[dict]) -> list[dict]:
    return [{**line, "seq": line["seq"] + 10**6} if line["type"] == "entry" else line for line in lines]


def of_another_word(lines: list[dict]) -> list[dict]:
    return [{**line, "word": "no_change"} if line is entries(lines)[-1] else line for line in lines]


@pytest.mark.parametrize("change", [without_last_entry, before_every_entry, of_another_word])
def test_a_bundle_with_another_realm_log_is_not_as_it_was_written(bundle, tmp_path, change: Callable):
    assert entries(bundle)
    assert verdict(change(bundle), tmp_path)[0] == 1
