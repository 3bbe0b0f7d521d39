"""Signatures of decisions, votes and policy values (protocol, section 5). Verifies only: an agent never signs.

Refuses keys whose checksum is wrong, that are not user keys, and signatures that are not exactly the 64 bytes
of an ed25519 signature in unpadded base64url.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import Any, Literal, TypeGuard

from nacl.exceptions import BadSignatureError
from nacl.exceptions import ValueError as NaclValueError
from nacl.signing import VerifyKey

Context = Literal["decision", "vote", "policy", "audit", "realm", "key"]

_USER_PREFIX = 20 << 3
_BASE64URL = re.compile("[A-Za-z0-9_-]*")
_DIGEST = re.compile("sha256:[0-9a-f]{64}")


def decode_public_key(nkey: str) -> bytes:
    """The 32 bytes of a public user nkey (`U…`). Raises `ValueError` on a bad checksum, prefix or length."""
    if len(nkey) != 56 or not nkey.isascii() or nkey != nkey.upper():
        raise ValueError("a public key is 56 upper case base32 characters")
    try:
        raw = base64.b32decode(nkey)
    except binascii.Error as error:
        raise ValueError("a public key is base32") from error
    body, checksum = raw[:-2], raw[-2:]
    # nkeys carry a CRC-16/XMODEM of prefix and key, low byte first.
    if binascii.crc_hqx(body, 0).to_bytes(2, "little") != checksum:
        raise ValueError("the checksum of the public key is wrong")
    if body[0] != _USER_PREFIX:
        raise ValueError("not a user key")
    return body[1:]


def signed_bytes(context: Context, realm: str, subject: str, payload: bytes) -> bytes:
    """The bytes that `CS-Sig` signs."""
    digest = hashlib.sha256(payload).hexdigest()
    return f"countersign-v1\n{context}\n{realm}\n{subject}\n{digest}".encode()


def verify(key: str, sig: str, context: Context, realm: str, subject: str, payload: bytes) -> bool:
    """Whether `sig` (base64url, no padding) is `key`'s signature of this message. Never raises."""
    try:
        raw = decode_base64url(sig)
        if len(raw) != 64:
            return False
        VerifyKey(decode_public_key(key)).verify(signed_bytes(context, realm, subject, payload), raw)
    except (ValueError, NaclValueError, BadSignatureError):
        return False
    return True


def decode_base64url(text: str) -> bytes:
    """Strict base64url without padding. Raises `ValueError` on any other spelling of the same bytes."""
    if not _BASE64URL.fullmatch(text):
        raise ValueError("not unpadded base64url")
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError("not unpadded base64url") from error
    if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() != text:
        raise ValueError("not the shortest spelling")
    return raw


def is_digest(value: Any) -> TypeGuard[str]:
    """Whether it is a digest as the protocol writes it."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None
