"""Signatures and JSON as the protocol has them (docs/protocol/v1.md), with nothing of Countersign.

Needs PyNaCl (ed25519), and the package `cryptography` for signatures of devices.
"""

import base64
import hashlib
import json
import math
import re
from decimal import Decimal

from nacl.exceptions import BadSignatureError
from nacl.exceptions import ValueError as NaclError
from nacl.signing import VerifyKey

SUBJECT = "countersign.v1.realm"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


def need(holds):
    if not holds:
        raise ValueError("another form than the protocol's")


def number(value):
    """A double as RFC 8785 (ECMAScript) writes it."""
    need(math.isfinite(value))
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    zeros = int(exponent)  # a letter is there only for what is not a number
    text, point = "".join(map(str, digits)), len(digits) + zeros
    if len(digits) <= point <= 21:
        text = text + "0" * zeros
    elif 0 < point <= 21:
        text = text[:point] + "." + text[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + text
    else:
        text = f"{text[0]}{'.' if text[1:] else ''}{text[1:]}e{point - 1:+d}"
    return "-" + text if sign and value else text


def canonical(value):
    """RFC 8785."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def unbase64(text):
    """base64url without padding, in the one spelling of its bytes."""
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    need(base64.urlsafe_b64encode(raw).rstrip(b"=").decode() == text)
    return raw


def strict(data):
    """A JSON object that every reader reads alike."""

    def unique(pairs):
        value = dict(pairs)
        need(len(value) == len(pairs) and not any(name.startswith("$serde_json::private::") for name in value))
        return value

    def integer(text):
        need(len(text) < 20 and abs(int(text)) < 2**53)
        return -0.0 if text == "-0" else int(text)

    def depth(value):
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    try:
        value = json.loads(
            data.decode(),
            object_pairs_hook=unique,
            parse_int=integer,
            parse_constant=need,
        )
        canonical(value).encode()  # no half of a surrogate pair, no number that a double does not hold
        need(isinstance(value, dict) and depth(value) <= 64)
    except RecursionError as error:
        raise ValueError("too deep") from error
    return value


def public_key(nkey):
    """An nkey of a user: base 32 of one prefix byte, 32 bytes of the key, two of a checksum."""
    need(isinstance(nkey, str) and re.fullmatch("U[A-Z2-7]{55}", nkey))
    raw = base64.b32decode(nkey)
    crc = 0
    for byte in raw[:33]:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (0x1021 if crc & 0x8000 else 0)) & 0xFFFF
    need(raw[0] == 0xA0 and raw[33:] == crc.to_bytes(2, "little"))
    return VerifyKey(raw[1:33])


def signed_bytes(context, realm, subject, payload):
    return f"countersign-v1\n{context}\n{realm}\n{subject}\n{hashlib.sha256(payload).hexdigest()}".encode()


def holds(key, context, realm, subject, payload, sig):
    """Whether a signature by an nkey is valid. libsodium is as strict as the protocol."""
    try:
        raw = unbase64(sig)
        need(len(raw) == 64)
        public_key(key).verify(signed_bytes(context, realm, subject, payload), raw)
    except (ValueError, TypeError, AttributeError, NaclError, BadSignatureError):
        return False
    return True


def device_holds(record, operator, context, realm, subject, payload, sig):
    """Whether a signature by a device is valid, and the device is the operator's."""
    try:
        public = unbase64(record["public"])
        name = "W" + base64.b32encode(hashlib.sha256(public).digest()).rstrip(b"=").decode()
        need(len(public) == 65 and record["key"] == name and isinstance(record["rp_id"], str))
        need(isinstance(record["origins"], list) and 1 <= len(record["origins"]) <= 2)
        need(MOMENT.fullmatch(record["until"]))
        consent = signed_bytes("key", realm, SUBJECT, f"{operator}\ndevice".encode())
        for signed, text in (
            (consent, record["proof"]),
            (signed_bytes(context, realm, subject, payload), sig),
        ):
            assertion(record, public, signed, text)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    return True


def assertion(record, public, signed, sig):
    need(len(sig) <= 4096)
    authenticator, client, signature = map(unbase64, sig.split("."))
    said = strict(client)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(signed).digest()).rstrip(b"=").decode()
    need((said["type"], said["challenge"]) == ("webauthn.get", challenge) and said["origin"] in record["origins"])
    need(said.get("crossOrigin", False) is False and "topOrigin" not in said)
    need(len(authenticator) >= 37 and authenticator[32] & 5 == 5)
    need(authenticator[:32] == hashlib.sha256(record["rp_id"].encode()).digest())
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ec import (
        ECDSA,
        SECP256R1,
        EllipticCurvePublicKey,
    )
    from cryptography.hazmat.primitives.hashes import SHA256

    try:
        point = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), public)
        point.verify(signature, authenticator + hashlib.sha256(client).digest(), ECDSA(SHA256()))
    except InvalidSignature as error:
        raise ValueError("the signature of a device is not valid") from error
