"""Device keys: passkeys that sign by a WebAuthn assertion (protocol, section 8). Pure.

Signatures need ECDSA P-256, which the extra `devices` brings.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from .records import SUBJECT, Limits
from .signature import Context, decode_base64url, signed_bytes
from .strict import read_strict
from .words import RISKS

MAX_ASSERTION = 4096

_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
_PRESENT_AND_VERIFIED = 0x01 | 0x04


def is_moment(value: Any) -> TypeGuard[str]:
    """Whether it is written as a time of the protocol. Times are compared as texts, so that each date counts as it is
    written."""
    return isinstance(value, str) and _MOMENT.fullmatch(value) is not None


def device_may(limits: Limits | None, verdict: str, workspace: str, risk: str, effects: str | None) -> bool:
    """Whether a device with these limits may decide so. `risk` is effective, `effects` the request's word."""
    if verdict in ("deny", "terminate", "skip"):
        return True
    if verdict not in ("approve", "respond") or effects not in (None, "read", "write", "unknown"):
        return False
    return risk != RISKS[-1] and (limits is None or limits.allow(workspace, risk))


def device_may_set(device: str, key: str, value: Any) -> bool:
    """Whether a device may sign this value of `CS_POLICY`."""
    if not isinstance(value, Mapping):
        return False
    if key == "panic":
        return value.get("on") is True
    if key.startswith("pause."):
        return value.get("state") in ("paused", "stopped")
    return key == f"ask.{device}"


def holds(
    record: Mapping[str, Any], operator: str, context: Context, realm: str, subject: str, payload: bytes, sig: str
) -> bool:
    """Whether the device of this record signed the message, and agreed to be a key of `operator`. Never raises."""
    public = _public(record)
    if public is None:
        return False
    consent = signed_bytes("key", realm, SUBJECT, f"{operator}\ndevice".encode())
    return _asserts(record, public, consent, record.get("proof")) and _asserts(
        record, public, signed_bytes(context, realm, subject, payload), sig
    )


def _public(record: Mapping[str, Any]) -> bytes | None:
    """The point of a record that is whole and names it."""
    try:
        public = decode_base64url(record["public"])
        key = "W" + base64.b32encode(hashlib.sha256(public).digest()).rstrip(b"=").decode()
        origins = record["origins"]
        fits = (
            len(public) == 65
            and record["key"] == key
            and isinstance(record["rp_id"], str)
            and isinstance(origins, list)
            and 1 <= len(origins) <= 2
            and all(isinstance(origin, str) for origin in origins)
            and is_moment(record["until"])
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return public if fits else None


def _asserts(record: Mapping[str, Any], public: bytes, signed: bytes, sig: Any) -> bool:
    try:
        if len(sig) > MAX_ASSERTION:
            return False
        authenticator, client, signature = map(decode_base64url, sig.split("."))
        data = read_strict(client)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(signed).digest()).rstrip(b"=").decode()
        asked = (
            data["type"] == "webauthn.get"
            and data["challenge"] == challenge
            and data["origin"] in record["origins"]
            and data.get("crossOrigin", False) is False
            and "topOrigin" not in data
        )
        if not asked or len(authenticator) < 37:
            return False
        if authenticator[:32] != hashlib.sha256(record["rp_id"].encode()).digest():
            return False
        if authenticator[32] & _PRESENT_AND_VERIFIED != _PRESENT_AND_VERIFIED:
            return False
        return _p256(public, signature, authenticator + hashlib.sha256(client).digest())
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def is_available() -> bool:
    """Whether the extra `devices` is installed."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        return False
    return True


def _p256(public: bytes, signature: bytes, signed: bytes) -> bool:
    if not is_available():
        return False
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.hashes import SHA256

    try:
        point = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), public)
        point.verify(signature, signed, ECDSA(SHA256()))
    except (ValueError, InvalidSignature):
        return False
    return True
