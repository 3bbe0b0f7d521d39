"""Prints what this SDK makes of a file of vectors: `python -m countersign.protocol_check FILE`.

It compares nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .passkey import device_may_set, holds, is_available
from .realm import Facts, Realm, Term, fault
from .records import meaning, slot_of
from .signature import decode_base64url
from .words import RISKS


def check(vectors: Any) -> Iterator[dict[str, Any]]:
    """A line for each log, or one for devices. Raises `ValueError` or `KeyError` for another file."""
    if vectors["kind"] == "realm-log":
        yield from (_log(vectors["realm"], log) for log in vectors["logs"])
    elif vectors["kind"] == "devices":
        yield _devices(vectors)
    else:
        raise ValueError("a file of another kind")


def _log(realm: str, log: Mapping[str, Any]) -> dict[str, Any]:
    slots = [(slot_of(sent["subject"]), sent["seq"], _bytes(sent)) for sent in log["messages"]]
    state, by_slot = Realm(realm, log["root"]), Realm(realm, log["root"])
    words = [None if slot is None else state.apply(slot, seq, message) for slot, seq, message in slots]
    for slot, seq, message in sorted((slot for slot in slots if slot[0] is not None), key=lambda slot: slot[0] or 0):
        if slot == by_slot.next_slot:
            by_slot.apply(slot, seq, message)
    return {
        "name": log["name"],
        "words": words,
        **_shown(state),
        "decisions": [_decision(state, asked) for asked in log["decisions"]],
        "votes": [_votes(state, asked) for asked in log["votes"]],
        "registers": None,
        "anchors": [state.holds(anchor["n"], anchor["digest"]) for anchor in log["anchors"]],
        "orders_agree": _shown(by_slot) == _shown(state) and by_slot.terms == state.terms,
    }


def _bytes(sent: Mapping[str, Any]) -> bytes:
    if "payload_base64url" in sent:
        return decode_base64url(sent["payload_base64url"])
    return str(sent.get("payload", "")).encode()


def _shown(state: Realm) -> dict[str, Any]:
    return {
        "head": {"n": len(state.chain), "digest": state.chain[-1].digest if state.chain else None},
        "acceptance": state.acceptance,
        "recovery": state.recovery,
        "operators": {who: _operator(record) for who, record in sorted(state.operators.items())},
        "ended": sorted(state.ended()),
        "chain": [
            {"n": entry.n, "digest": entry.digest, "slot": entry.slot, "seq": entry.sequence} for entry in state.chain
        ],
        "next_slot": state.next_slot,
    }


def _operator(record: Mapping[str, Any]) -> dict[str, Any]:
    keys = {
        key["key"]: {"role": key["role"], "limits": _limits(key.get("limits")), "device": key.get("device")}
        for key in sorted(record["keys"], key=lambda key: str(key["key"]))
    }
    limits = _limits(record.get("limits"))
    return {"name": record["name"], "admin": record.get("admin", False), "limits": limits, "keys": keys}


def _limits(limits: Any) -> dict[str, Any] | None:
    means = meaning(limits)
    if means is None:
        return None
    return {"workspaces": None if means.workspaces is None else sorted(means.workspaces), "max_risk": means.max_risk}


def _facts(asked: Mapping[str, Any], origin: str) -> Facts:
    risk = asked["risk"] if asked["risk"] in RISKS else RISKS[-1]
    return Facts(
        asked["verdict"], origin, asked["workspace"], risk, asked.get("effects"), asked["verifies"], asked["at"]
    )


def _decision(state: Realm, asked: Mapping[str, Any]) -> dict[str, Any]:
    facts = _facts(asked, asked["origin"])
    key, sequence = asked["key"], asked["seq"]
    return {"console": state.fault(key, facts, sequence), "agent": state.agent_fault(key, facts, sequence)}


def _votes(state: Realm, asked: Mapping[str, Any]) -> dict[str, Any]:
    facts = _facts(asked, "operator")
    there = {key: state.voter(key, facts, asked["seq"]) for key in asked["keys"]}
    for_agent = {operator for key, operator in there.items() if not state.agent_fault(key, facts, asked["seq"])}
    return {"console": len(set(there.values()) - {None}), "agent": len(for_agent)}


def _devices(vectors: Mapping[str, Any]) -> dict[str, Any]:
    realm = vectors["realm"]
    signatures = [
        holds(
            asked["record"],
            asked["operator"],
            asked["context"],
            realm,
            asked["subject"],
            asked["payload"].encode(),
            asked["sig"],
        )
        for asked in vectors["signatures"]
    ]
    return {
        "signatures": signatures if is_available() else None,
        "decisions": [_of_device(asked) for asked in vectors["decisions"]],
        "values": [device_may_set(asked["device"], asked["key"], asked["value"]) for asked in vectors["values"]],
    }


def _of_device(asked: Mapping[str, Any]) -> str | None:
    key = {"role": "device", "limits": asked["limits"], "until": asked["until"]}
    return fault(Term(1, 0, "", None, key), _facts(asked, asked["origin"]))


def main(arguments: list[str]) -> int:
    """The exit code: 2 where the file cannot be read."""
    try:
        (file,) = arguments
        lines = list(check(json.loads(Path(file).read_bytes())))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        print(f"usage: python -m countersign.protocol_check FILE ({error})", file=sys.stderr)
        return 2
    for line in lines:
        print(json.dumps(line, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
