"""One call of an agent, written from docs/protocol/v1.md. "Section" is one of that page.

    bare_agent.py AGENT_JSON [--args JSON] [--seconds N]

Needs nats-py[nkeys], PyNaCl, rfc8785, and of Countersign the one module that folds the realm log (section 8):
`countersign.realm`. Exit 0: an operator approved, and the call "ran". Exit 1: it did not run.

To be read beside the page by whoever writes an agent in another language; in Python, sdk/python does all of this and
more. Refuses whatever it cannot prove. Left out: TLS and .creds files, votes of several operators, devices, headers
that are there twice or that cannot be parsed, another look where an entry of the log may be on its way, spans, a look
and a hello after a reconnect, and a second try of what the bus did not acknowledge.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import datetime as dt
import hashlib
import itertools
import json
import signal
import sys
import uuid
from pathlib import Path
from typing import Any

import nats
import rfc8785
from countersign.realm import Facts, Realm, absence
from nacl.exceptions import CryptoError
from nacl.signing import VerifyKey
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

RISK, EFFECTS = "medium", "irreversible"
VERDICTS = ("approve", "modify", "deny")
RUNNING = ("approve", "modify")
MORE_THAN_NO = (*RUNNING, "skip", "respond", "escalate")
SYSTEM = {"expired": "timeout", "withdrawn": "agent", "rejected": "system"}
DECIDING = ("operator", "rule", "setup_key")
Seen = tuple[Msg | None, list[Msg]]
"""A decision, and every slot of the realm log."""


class Void(Exception):  # noqa: N818
    """A decision that does not count, with the code of section 5."""


class Refused(Exception):  # noqa: N818
    """The bus did not take a message, and said so."""


def need(holds: bool, code: str) -> None:
    if not holds:
        raise Void(code)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest(data: bytes) -> str:
    return f"sha256:{sha256(data)}"


def stamp(text: str) -> dt.datetime:
    """RFC 3339; the server's have nine digits, of which milliseconds count."""
    moment = dt.datetime.fromisoformat(text)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def stamped(moment: dt.datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("the same key twice")
    return dict(pairs)


def is_signed(key: str, sig: str, context: str, realm: str, subject: str, payload: bytes) -> bool:
    text = "\n".join(["countersign-v1", context, realm, subject, sha256(payload)])
    try:
        VerifyKey(base64.b32decode(key)[1:33]).verify(text.encode(), decode(sig))
    except (CryptoError, ValueError):
        return False
    return True


def sequence(stored: Msg) -> int:
    return int((stored.headers or {})["Nats-Sequence"])


def evidence(seen: Seen) -> list[tuple[str, int, str, bytes] | None]:
    decision, slots = seen
    about = ((one, one.headers or {}) if one is not None else None for one in (decision, *slots))
    return [
        one and (one[1]["Nats-Subject"], sequence(one[0]), one[1]["Nats-Time-Stamp"], one[0].data) for one in about
    ]


class Agent:
    def __init__(self, enrolment: dict[str, Any]) -> None:
        self.file = enrolment
        self.known = (enrolment["log"]["n"], enrolment["log"]["digest"])
        self.instance = str(uuid.uuid4())
        self.nc: Client
        self.hint = asyncio.Event()
        self.stopped = False

    def subject(self, kind: str, *request_id: str) -> str:
        return ".".join(["countersign.v1", kind, self.file["workspace"], self.file["agent"], *request_id])

    async def open(self) -> None:
        file = self.file
        self.nc = await nats.connect(
            file["nats_url"], nkeys_seed_str=file["nkey_seed"], inbox_prefix=file["inbox_prefix"].encode()
        )

        async def hinted(_: Msg) -> None:
            self.hint.set()

        await self.nc.subscribe(self.subject("decided", "*"), cb=hinted)
        await self.look(self.subject("decision", str(uuid.uuid4())))  # the barrier
        about = {"agent": {"name": file["agent"]}, "instance_id": self.instance, "tools": [{"name": "send_mail"}]}
        await self.store(self.subject("hello"), {"v": 1, **about})

    def stop(self) -> None:
        """Ends the wait and takes the request back."""
        self.stopped = True
        self.hint.set()

    async def stay_alive(self) -> None:
        while True:
            await self.nc.publish(self.subject("alive"), json.dumps({"v": 1, "instance_id": self.instance}).encode())
            await asyncio.sleep(10)

    async def store(self, subject: str, message: dict[str, Any] | bytes, *, first: bool = False) -> None:
        """Raises where the stream did not take it."""
        payload = message if isinstance(message, bytes) else json.dumps(message).encode()
        headers = {"Nats-Expected-Last-Subject-Sequence": "0"} if first else None
        answer = json.loads((await self.nc.request(subject, payload, timeout=2, headers=headers)).data)
        if "error" in answer:
            raise Refused(f"the bus refused {subject}: {answer['error']}")

    async def look(self, subject: str) -> Msg | None:
        """What is stored, by direct get. What is stored has a sequence, whatever status its publisher wrote."""
        found = await self.nc.request(f"$JS.API.DIRECT.GET.CS_DECISIONS.{subject}", timeout=2)
        headers = found.headers or {}
        if headers.get("Status") == "404" and "Nats-Sequence" not in headers:
            return None
        if headers.get("Nats-Subject") != subject or headers.get("Nats-Stream") != "CS_DECISIONS":
            raise Refused(f"the bus sent another message than {subject}")
        return found

    async def look_around(self, subject: str) -> Seen:
        """The decision, and the slots from the first one on until one is free."""
        decision = await self.look(subject)
        slots: list[Msg] = []
        while (slot := await self.look(f"countersign.v1.realm.{len(slots) + 1}")) is not None:
            slots.append(slot)
        return decision, slots

    async def read(self, subject: str) -> tuple[Msg | None, Realm | None]:
        """The decision, and the realm log at the same moment: two looks show the same. No log without what is known
        to be in it."""
        before, seen = None, await self.look_around(subject)
        while before is None or evidence(before) != evidence(seen):
            before, seen = seen, await self.look_around(subject)
        decision, slots = seen
        log = Realm(self.file["realm"], self.file["log"]["root"])
        for number, slot in enumerate(slots, 1):
            log.apply(number, sequence(slot), slot.data)
        if not log.holds(*self.known):
            return decision, None
        self.known = (log.chain[-1].n, log.chain[-1].digest)
        return decision, log

    async def ask(self, args: Any, seconds: float) -> Any:
        """The arguments that ran. Raises `Void` with the verdict or the fault where nothing may run."""
        request_id, now = str(uuid.uuid4()), dt.datetime.now(dt.UTC)
        request = {
            "v": 1,
            "kind": "tool_call",
            "request_id": request_id,
            "workspace": self.file["workspace"],
            "agent": {"name": self.file["agent"], "instance_id": self.instance},
            "tool": {"name": "send_mail", "effects": EFFECTS},
            "args": args,
            "args_digest": digest(rfc8785.dumps(args)),
            "risk": RISK,
            "allowed_verdicts": list(VERDICTS),
            "requested_at": stamped(now),
            "expires_at": stamped(now + dt.timedelta(seconds=seconds)),
        }
        payload = json.dumps(request).encode()
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            await self.store(self.subject("request", request_id), payload, first=True)
            print(f"asked {request_id}", flush=True)
            stored, log = await self.wait(self.subject("decision", request_id), started, seconds)
        except Refused:
            # The request of this id that may stand there is another's: it is not taken back.
            raise
        except BaseException:
            # Whatever arrives after this, nothing runs.
            await self.store(self.subject("withdraw", request_id), {"v": 1, "reason": "gave up"}, first=True)
            raise
        if stored is None or log is None:
            raise Void("expired")
        decision = {"decision_id": "unreadable"}
        try:
            decision = self.judge(request, payload, stored, log)
            verdict = decision["verdict"]
            need(verdict in SYSTEM or clock() - started < seconds, "late")
        except Void as fault:
            await self.receipt(request_id, decision, "refused", message=str(fault))
            raise
        await self.receipt(request_id, decision, "received")
        if verdict not in RUNNING:
            raise Void(f"{verdict}: {decision.get('message', '')}")
        args = decision["edited_args"] if verdict == "modify" else args
        need(clock() - started < seconds, "late")  # the receipt took its time
        print("sent", json.dumps(args), flush=True)  # the call
        try:
            await self.receipt(request_id, decision, "executed", executed_args_digest=decision["args_digest"])
        except (NatsError, Refused) as why:
            # The call ran: nobody who asks whether it did may hear no.
            print(f"the console was not informed that it ran: {why}", file=sys.stderr)
        return args

    async def wait(self, subject: str, started: float, seconds: float) -> tuple[Msg | None, Realm | None]:
        """The stored decision with the log to judge it by; None where there was none at the deadline."""
        clock = asyncio.get_running_loop().time
        for look_at in itertools.chain((0.0, 1.0, 2.0, 5.0), itertools.count(20.0, 15.0)):
            until = started + min(look_at, seconds)
            while True:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.hint.wait(), max(0.0, until - clock()))
                self.hint.clear()
                stored = await self.look(subject)
                if self.stopped:
                    raise Void("stopped")
                if stored is not None and (found := await self.read(subject))[1] is not None:
                    return found
                if clock() >= until:
                    break
            if clock() - started >= seconds:
                break
        return None, None

    async def receipt(self, request_id: str, decision: dict[str, Any], stage: str, **more: str) -> None:
        said = {"v": 1, "decision_id": decision["decision_id"], "stage": stage}
        at = stamped(dt.datetime.now(dt.UTC))
        await self.store(self.subject("receipt", request_id), {**said, "at": at, **more})

    def judge(self, request: dict[str, Any], payload: bytes, stored: Msg, log: Realm) -> dict[str, Any]:
        """The steps of section 5 in their order, but for votes, which are not asked for, and the timer."""
        headers = stored.headers or {}
        key, sig = headers.get("CS-Key", ""), headers.get("CS-Sig", "")
        need(bool(key and sig), "unsigned")
        subject, at = self.subject("decision", request["request_id"]), stamp(headers["Nats-Time-Stamp"])
        need(headers["Nats-Subject"] == subject, "wrong_subject")
        term = log.term(key, sequence(stored))
        if term is None or (missing := absence(term, stamped(at), ())) is not None:
            raise Void("unknown_key" if term is None else missing)
        need(len(stored.data) <= 900 * 1024, "malformed")
        need(is_signed(key, sig, "decision", self.file["realm"], subject, stored.data), "bad_signature")
        try:
            decision: dict[str, Any] = json.loads(stored.data, object_pairs_hook=unique)
            need(decision["v"] == 1 and isinstance(decision["decision_id"], str), "malformed")
            need(decision["decided_by"]["key"] == key, "bad_signature")
            need(decision["request_id"] == request["request_id"], "wrong_request")
            need(decision["request_digest"] == digest(payload), "wrong_request_digest")
            verdict, origin = decision["verdict"], decision["origin"]
            is_no = verdict == "deny" or verdict not in {*MORE_THAN_NO, "terminate", *SYSTEM}
            need(term.key["role"] == ("human" if origin == "operator" else "auto"), "wrong_role")
            fits = origin == SYSTEM[verdict] if verdict in SYSTEM else is_no or origin in DECIDING
            need(fits, "wrong_role")
            need(origin not in ("rule", "setup_key") or decision["rule"] is not None, "malformed")
            need(verdict in VERDICTS or verdict in SYSTEM or is_no, "not_allowed")
            if verdict in RUNNING:
                edited = "edited_args" in decision
                need(edited is (verdict == "modify"), "malformed")
                runs = digest(rfc8785.dumps(decision["edited_args"])) if edited else request["args_digest"]
                need(decision["args_digest"] == runs, "wrong_args_digest")
            # Steps 3, 10 and 16, for what is more than no also by the head of the log.
            facts = Facts(verdict, origin, request["workspace"], RISK, EFFECTS, (), stamped(at))
            fault = log.agent_fault(key, facts, sequence(stored))
            need(fault is None, fault or "")
        except (ValueError, KeyError, TypeError) as why:
            raise Void("malformed") from why
        return decision


async def run(agent: Agent, args: Any, seconds: float) -> int:
    await agent.open()
    alive = asyncio.create_task(agent.stay_alive())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, agent.stop)
    try:
        await agent.ask(args, seconds)
    except Void as why:
        print(f"not run, {why}", flush=True)
        return 1
    finally:
        alive.cancel()
        await agent.nc.close()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Asks a person before it mails.")
    parser.add_argument("agent_json", type=Path)
    parser.add_argument("--args", type=json.loads, default={"to": "ada@example.org", "subject": "Hello"})
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    agent = Agent(json.loads(options.agent_json.read_text()))
    return asyncio.run(run(agent, options.args, options.seconds))


if __name__ == "__main__":
    sys.exit(main())
