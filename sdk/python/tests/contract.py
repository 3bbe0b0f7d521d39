"""The published schemas of every message (`docs/protocol`)."""

from __future__ import annotations

import json

from jsonschema import Draft202012Validator

from nats_server import REPOSITORY

CONTRACT = REPOSITORY / "docs/protocol"


def valid(kind: str, payload: bytes) -> None:
    """Raises where the payload is not what `kind`.schema.json says."""
    schema = json.loads((CONTRACT / f"{kind}.schema.json").read_text())
    Draft202012Validator(schema).validate(json.loads(payload))
