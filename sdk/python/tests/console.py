"""A console for tests: signs with keys and code of its own, none of it from the package under test."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import uuid
from dataclasses import dataclass, field

import nats
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nats.js.api import DiscardPolicy, RePublish, StreamConfig

from played import Played, b64, listed, record


def crc16(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = ((crc << 1) ^ 0x1021) & 0xFFFF if crc & 0x8000 else (crc << 1) & 0xFFFF
    return crc


class Key:
    """An nkey, made from scratch unless its secret is given; of a user unless another kind is named."""

    def __init__(self, kind: int = 20, *, secret: bytes | None = None) -> None:
        self.raw = secret or os.urandom(32)
        self.private = Ed25519PrivateKey.from_private_bytes(self.raw)
        body = bytes([kind << 3]) + self.private.public_key().public_bytes_raw()
        self.public = base64.b32encode(body + crc16(body).to_bytes(2, "little")).decode()

    @property
    def damaged(self) -> str:
        """The public key with another last character: a checksum that can end with any letter no longer fits."""
        return self.public[:-1] + ("A" if self.public[-1] != "A" else "B")

    @property
    def seed(self) -> str:
        prefix, user = 18 << 3, 20 << 3
        body = bytes([prefix | user >> 5, (user & 31) << 3]) + self.raw
        return base64.b32encode(body + crc16(body).to_bytes(2, "little")).decode().rstrip("=")

    def sign(self, context: str, realm: str, subject: str, payload: bytes) -> str:
        text = "\n".join(["countersign-v1", context, realm, subject, hashlib.sha256(payload).hexdigest()])
        return b64(self.private.sign(text.encode()))


def canonical_digest(args: object) -> str:
    """Good for the plain arguments of these tests only; the vectors are in test_digest."""
    text = json.dumps(args, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Seen:
    """A request as the console received it."""

    subject: str
    payload: bytes
    body: dict

    @property
    def decision_subject(self) -> str:
        return self.subject.replace(".request.", ".decision.")


@dataclass
class Console:
    realm: str
    human: Key = field(default_factory=Key)
    auto: Key = field(default_factory=Key)

    def __post_init__(self) -> None:
        self.log = Played(self.realm, self.human, self.auto)

    async def connect(self, url: str, login: Key, **options) -> None:
        self.nc = await nats.connect(
            url, nkeys_seed_str=login.seed, max_reconnect_attempts=-1, reconnect_time_wait=0.1, **options
        )
        self.js = self.nc.jetstream()
        self.received: dict[str, list] = {}
        for kind in ("request", "withdraw", "tighten", "receipt", "hello", "alive", "event"):
            self.received[kind] = []
            await self.nc.subscribe(f"countersign.v1.{kind}.>", cb=self._keep)

    async def _keep(self, message) -> None:
        self.received[message.subject.split(".")[2]].append(message)

    async def create_streams(self) -> None:
        def subjects(*kinds: str) -> list[str]:
            return [f"countersign.v1.{kind}.>" for kind in kinds]

        once = {"max_msgs_per_subject": 1, "discard": DiscardPolicy.NEW, "discard_new_per_subject": True}
        await self.js.add_stream(
            StreamConfig("CS_REQUESTS", subjects=subjects("request", "withdraw", "tighten"), max_msgs=-1, **once)
        )
        await self.js.add_stream(
            StreamConfig(
                "CS_DECISIONS",
                subjects=[*subjects("decision", "vote"), "countersign.v1.realm.*"],
                deny_delete=True,
                deny_purge=True,
                allow_direct=True,
                republish=RePublish("countersign.v1.decision.>", "countersign.v1.decided.>"),
                **once,
            )
        )
        await self.js.add_stream(StreamConfig("CS_RECEIPTS", subjects=subjects("receipt"), max_msgs_per_subject=8))
        await self.js.add_stream(StreamConfig("CS_EVENTS", subjects=subjects("event")))
        await self.js.add_stream(StreamConfig("CS_AGENTS", subjects=subjects("hello"), max_msgs_per_subject=1))
        await self.js.create_key_value(bucket="CS_POLICY", history=64, direct=True)
        await self.put_log(1)

    async def until(self, kind: str, match, seconds: float = 5.0):
        async with asyncio.timeout(seconds):
            while True:
                for message in self.received[kind]:
                    if match(message):
                        return message
                await asyncio.sleep(0.005)

    async def request(self, request_id: str) -> Seen:
        message = await self.until("request", lambda m: m.subject.endswith("." + request_id))
        return Seen(message.subject, message.data, json.loads(message.data))

    async def receipt(self, request_id: str, stage: str) -> dict:
        message = await self.until(
            "receipt",
            lambda m: m.subject.endswith("." + request_id) and json.loads(m.data)["stage"] == stage,
        )
        return json.loads(message.data)

    def decision(self, seen: Seen, verdict: str = "approve", **changes) -> dict:
        body = {
            "v": 1,
            "decision_id": str(uuid.uuid4()),
            "request_id": seen.body["request_id"],
            "request_digest": "sha256:" + hashlib.sha256(seen.payload).hexdigest(),
            "verdict": verdict,
            "origin": "operator",
            "decided_by": {"name": "Ada", "key": self.human.public},
            "decided_at": "2026-11-21T12:00:00.000Z",
        }
        if verdict == "approve":
            body["args_digest"] = seen.body.get("args_digest")
        body.update(changes)
        return {name: value for name, value in body.items() if value is not ...}

    def vote(self, seen: Seen, key: Key, verdict: str = "approve", **changes) -> dict:
        payload = json.dumps(
            {
                "v": 1,
                "vote_id": str(uuid.uuid4()),
                "request_digest": "sha256:" + hashlib.sha256(seen.payload).hexdigest(),
                "verdict": verdict,
                "args_digest": seen.body["args_digest"],
                "decided_by": {"name": "x", "key": key.public},
                "decided_at": "2026-11-21T12:00:00.000Z",
                **changes,
            }
        ).encode()
        subject = seen.subject.replace(".request.", ".vote.") + "." + key.public
        signature = key.sign("vote", self.realm, subject, payload)
        return {"key": key.public, "subject": subject, "payload": b64(payload), "sig": signature}

    def signed(self, subject: str, body: dict, *, key: Key | None = None, realm: str | None = None):
        signer = key or self.human
        payload = json.dumps(body).encode()
        headers = {
            "CS-Key": signer.public,
            "CS-Sig": signer.sign("decision", realm or self.realm, subject, payload),
        }
        return payload, headers

    async def store(self, subject: str, payload: bytes, headers: dict[str, str] | None) -> None:
        sent = {**(headers or {}), "Nats-Expected-Last-Subject-Sequence": "0"}
        await self.js.publish(subject, payload, headers=sent)

    async def decide(self, request_id: str, verdict: str = "approve", **changes) -> Seen:
        seen = await self.request(request_id)
        body = self.decision(seen, verdict, **changes)
        key = self.human if body["decided_by"]["key"] == self.human.public else self.auto
        await self.store(seen.decision_subject, *self.signed(seen.decision_subject, body, key=key))
        return seen

    async def put_log(self, first: int, last: int | None = None, **headers: str) -> None:
        """Store the slots of the log from `first` on as they are in `log`."""
        for slot in range(first, (len(self.log.messages) if last is None else last) + 1):
            await self.store(f"countersign.v1.realm.{slot}", self.log.messages[slot - 1], headers)

    async def write(self, by: Key | None = None, **change) -> None:
        """Sign the next entry and store it."""
        self.log.add(by or self.human, **change)
        await self.put_log(len(self.log.messages))

    async def let_in(self, key: Key, name: str = "New", *more: dict, **fields) -> None:
        """A new operator; what more keys there are the operator adds."""
        await self.write(operators=[record(self.realm, key, name, **fields)])
        if more:
            await self.write(key, operators=[record(self.realm, key, name, *more, **fields)])

    def founder(self, **fields) -> dict:
        """The record of the console's own person, who is an administrator unless there are limits."""
        keys = listed(self.realm, self.auto, "auto", self.human)
        return record(self.realm, self.human, "Ada", keys, **({"admin": True} | fields))
