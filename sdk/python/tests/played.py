"""A realm log as consoles write it: made and signed by code of its own, none of the package under test."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

SUBJECT = "countersign.v1.realm"


def b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def consent(realm: str, key, operator: str, role: str) -> str:
    """What a `proof` is."""
    return key.sign("key", realm, SUBJECT, f"{operator}\n{role}".encode())


def listed(realm: str, key, role: str = "human", operator=None, **fields: Any) -> dict[str, Any]:
    """A key as a record names it."""
    who = operator or key
    return {"key": key.public, "role": role, "proof": consent(realm, key, who.public, role), **fields}


def record(realm: str, key, name: str = "Ada", *more: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """An operator with this desk key, and more keys."""
    return {"id": key.public, "name": name, "keys": [listed(realm, key), *more], **fields}


def ended(*keys) -> list[dict[str, Any]]:
    """Records with which these operators end."""
    return [{"id": key.public, "keys": []} for key in keys]


def sealed(realm: str, key, payload: bytes) -> bytes:
    """A signed entry."""
    sig = key.sign("realm", realm, SUBJECT, payload)
    return json.dumps({"payload": b64(payload), "key": key.public, "sig": sig}).encode()


class Played:
    """The log of one realm: a founder with a console's key, and what is written after it."""

    def __init__(self, realm: str, founder, auto) -> None:
        self.realm = realm
        self.founder = founder
        self.messages: list[bytes] = []
        """What is in the slots, from the first on; a slot without a message is burnt."""
        self.digests: list[str] = []
        """Of the entries of the chain."""
        founded = record(realm, founder, "Ada", listed(realm, auto, "auto", founder), admin=True)
        self.add(founder, operators=[founded], realm={"acceptance": False})

    @property
    def n(self) -> int:
        return len(self.digests)

    def head(self) -> dict[str, Any]:
        """`log` of an `agent.json` that is written now."""
        return {"root": self.digests[0], "n": self.n, "digest": self.digests[-1]}

    def payload(self, by, **change: Any) -> bytes:
        """Of an entry for the head."""
        prev = self.digests[-1] if self.digests else None
        frame = {"v": 1, "n": self.n + 1, "prev": prev, "at": "2026-11-25T12:00:00.000Z", "by": by.public}
        return json.dumps({**frame, "policy": None, **change}).encode()

    def entry(self, by, **change: Any) -> bytes:
        """The next entry; nothing is added."""
        return sealed(self.realm, by, self.payload(by, **change))

    def add(self, by, **change: Any) -> bytes:
        """The next entry, which is then the head, in the next slot."""
        payload = self.payload(by, **change)
        self.digests.append("sha256:" + hashlib.sha256(payload).hexdigest())
        return self.junk(sealed(self.realm, by, payload))

    def junk(self, message: bytes) -> bytes:
        """Anything at all in the next slot."""
        self.messages.append(message)
        return message


class Phone:
    """A passkey of an operator: signs as a `Key` does, by an assertion."""

    def __init__(self, realm: str, holder, max_risk: str = "medium", until: str = "2127-01-01T00:00:00.000Z") -> None:
        self.private = ec.generate_private_key(ec.SECP256R1())
        form = serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        self.point = self.private.public_key().public_bytes(*form)
        self.public = "W" + base64.b32encode(hashlib.sha256(self.point).digest()).rstrip(b"=").decode()
        self.listed = {
            "key": self.public,
            "role": "device",
            "device": "a phone",
            "public": b64(self.point),
            "credential": b64(b"1"),
            "rp_id": "desk.example",
            "origins": ["https://desk.example"],
            "limits": {"max_risk": max_risk},
            "until": until,
            "proof": consent(realm, self, holder.public, "device"),
        }
        """As a record names it."""

    def sign(self, context: str, realm: str, subject: str, payload: bytes) -> str:
        text = "\n".join(["countersign-v1", context, realm, subject, hashlib.sha256(payload).hexdigest()])
        challenge = b64(hashlib.sha256(text.encode()).digest())
        client = {"type": "webauthn.get", "challenge": challenge, "origin": "https://desk.example"}
        said = json.dumps(client).encode()
        authenticator = hashlib.sha256(b"desk.example").digest() + b"\x05" + bytes(4)
        signed = authenticator + hashlib.sha256(said).digest()
        return ".".join(map(b64, (authenticator, said, self.private.sign(signed, ec.ECDSA(hashes.SHA256())))))
