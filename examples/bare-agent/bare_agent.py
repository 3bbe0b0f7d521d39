"""One call of an agent, written from docs/protocol/v1.md with nothing of Countersign. "Section" is one of that page.

    bare_agent.py AGENT_JSON [--args JSON] [--seconds N]

Needs nats-py[nkeys], PyNaCl and rfc8785. Exit 0: an operator approved, and the call "ran". Exit 1: it did not run.

To be read beside the page by whoever writes an agent in another language; in Python, sdk/python does all of this and
more. Refuses whatever it cannot prove. Left out: TLS and .creds files, votes of several operators, lists of operators
that only a chain of keys or `base` leads to (section 8), headers that stand twice, spans, a look and a hello after a
reconnect, and a second try of what the bus did not acknowledge.
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
from nacl.exceptions import CryptoError
from nacl.signing import VerifyKey
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

RISKS = ("safe", "low", "medium", "high", "critical")
RISK = "medium"
VERDICTS = ("approve", "modify", "deny")
RUNNING = ("approve", "modify")
MORE_THAN_NO = (*RUNNING, "skip", "respond", "escalate")
SYSTEM = {"expired": "timeout", "withdrawn": "agent", "rejected": "system"}
DECIDING = ("operator", "rule", "setup_key")
OPERATORS = "$KV.CS_POLICY.operators"


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


class Trust:
    """The keys that count (sections 5 and 8): those of agent.json, then those of the list taken over."""

    def __init__(self, realm: str, keys: list[dict[str, Any]]) -> None:
        self.realm, self.keys = realm, keys
        self.at: dt.datetime | None = None

    def terms(self, key: str, at: dt.datetime) -> list[dict[str, Any]]:
        def counts(term: dict[str, Any]) -> bool:
            begin, end = term.get("from"), term.get("until")
            return (begin is None or stamp(begin) <= at) and (end is None or at < stamp(end))

        return [term for term in self.keys if term["key"] == key and counts(term)]

    def role(self, key: str, at: dt.datetime) -> str | None:
        roles = {term["role"] for term in self.terms(key, at)}
        return roles.pop() if len(roles) == 1 else None

    def is_within_limits(self, key: str, at: dt.datetime, workspace: str, risk: str) -> bool:
        for term in self.terms(key, at):
            places, highest = term.get("workspaces"), term.get("max_risk")
            if places is not None and workspace not in places:
                return False
            # A word that is not known reads as the narrowest.
            if highest is not None and RISKS.index(risk) > (RISKS.index(highest) if highest in RISKS else 0):
                return False
        return True

    def take_over(self, stored: bytes, stored_at: dt.datetime) -> None:
        """A list that does not count changes nothing."""
        try:
            value = json.loads(stored)
            payload, signer = decode(value["payload"]), value["key"]
            listed = json.loads(payload)
            at = stamp(listed["at"])
            later = self.at is None or self.at < at
            timely = at - max(stored_at, self.at or stored_at) <= dt.timedelta(seconds=60)
            terms = self.terms(signer, stored_at)
            free = all(term.get("workspaces") is None and term.get("max_risk") is None for term in terms)
            may = self.role(signer, stored_at) == "human" and free
            if later and timely and may and is_signed(signer, value["sig"], "policy", self.realm, OPERATORS, payload):
                self.keys, self.at = listed["operators"], at
        except (ValueError, KeyError, TypeError):
            return


class Agent:
    def __init__(self, enrolment: dict[str, Any]) -> None:
        self.file = enrolment
        self.trust = Trust(enrolment["realm"], enrolment["trusted_keys"])
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
        await self.read_operators()
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

    async def look(self, subject: str, stream: str = "CS_DECISIONS") -> Msg | None:
        """What is stored, by direct get."""
        found = await self.nc.request(f"$JS.API.DIRECT.GET.{stream}.{subject}", timeout=2)
        return None if (found.headers or {}).get("Status") == "404" else found

    async def read_operators(self) -> None:
        found = await self.look(OPERATORS, "KV_CS_POLICY")
        if found is not None and found.headers is not None:
            self.trust.take_over(found.data, stamp(found.headers["Nats-Time-Stamp"]))

    async def ask(self, args: Any, seconds: float) -> Any:
        """The arguments that ran. Raises `Void` with the verdict or the fault where nothing may run."""
        request_id, now = str(uuid.uuid4()), dt.datetime.now(dt.UTC)
        request = {
            "v": 1,
            "kind": "tool_call",
            "request_id": request_id,
            "workspace": self.file["workspace"],
            "agent": {"name": self.file["agent"], "instance_id": self.instance},
            "tool": {"name": "send_mail", "effects": "irreversible"},
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
            stored = await self.wait(self.subject("decision", request_id), started, seconds)
        except Refused:
            # The request of this id that may stand there is another's: it is not taken back.
            raise
        except BaseException:
            # Whatever arrives after this, nothing runs.
            await self.store(self.subject("withdraw", request_id), {"v": 1, "reason": "gave up"}, first=True)
            raise
        if stored is None:
            raise Void("expired")
        await self.read_operators()
        decision = {"decision_id": "unreadable"}
        try:
            decision = self.judge(request, payload, stored)
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

    async def wait(self, subject: str, started: float, seconds: float) -> Msg | None:
        """The stored decision; None where there was none at the deadline."""
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
                if stored is not None:
                    return stored
                if clock() >= until:
                    break
            if clock() - started >= seconds:
                break
        return None

    async def receipt(self, request_id: str, decision: dict[str, Any], stage: str, **more: str) -> None:
        said = {"v": 1, "decision_id": decision["decision_id"], "stage": stage}
        at = stamped(dt.datetime.now(dt.UTC))
        await self.store(self.subject("receipt", request_id), {**said, "at": at, **more})

    def judge(self, request: dict[str, Any], payload: bytes, stored: Msg) -> dict[str, Any]:
        """The steps of section 5 in their order, but for votes, which are not asked for, and the timer."""
        headers = stored.headers or {}
        key, sig = headers.get("CS-Key", ""), headers.get("CS-Sig", "")
        need(bool(key and sig), "unsigned")
        subject, at = self.subject("decision", request["request_id"]), stamp(headers["Nats-Time-Stamp"])
        need(headers["Nats-Subject"] == subject, "wrong_subject")
        role = self.trust.role(key, at)
        need(role is not None, "unknown_key")
        need(len(stored.data) <= 900 * 1024, "malformed")
        need(is_signed(key, sig, "decision", self.trust.realm, subject, stored.data), "bad_signature")
        try:
            decision: dict[str, Any] = json.loads(stored.data, object_pairs_hook=unique)
            need(decision["v"] == 1 and isinstance(decision["decision_id"], str), "malformed")
            need(decision["decided_by"]["key"] == key, "bad_signature")
            need(decision["request_id"] == request["request_id"], "wrong_request")
            need(decision["request_digest"] == digest(payload), "wrong_request_digest")
            verdict, origin = decision["verdict"], decision["origin"]
            is_no = verdict == "deny" or verdict not in {*MORE_THAN_NO, "terminate", *SYSTEM}
            need(role == ("human" if origin == "operator" else "auto"), "wrong_role")
            fits = origin == SYSTEM[verdict] if verdict in SYSTEM else is_no or origin in DECIDING
            need(fits, "wrong_role")
            need(origin not in ("rule", "setup_key") or decision["rule"] is not None, "malformed")
            need(verdict in VERDICTS or verdict in SYSTEM or is_no, "not_allowed")
            if verdict in RUNNING:
                edited = "edited_args" in decision
                need(edited is (verdict == "modify"), "malformed")
                runs = digest(rfc8785.dumps(decision["edited_args"])) if edited else request["args_digest"]
                need(decision["args_digest"] == runs, "wrong_args_digest")
            if verdict in MORE_THAN_NO:
                need(self.trust.is_within_limits(key, at, request["workspace"], RISK), "beyond_limit")
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
