"""What a person reads of a selectools call beside its arguments, and what the model reads of the answer."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

from selectools import Tool  # type: ignore[import-untyped,unused-ignore]
from selectools.exceptions import ToolValidationError  # type: ignore[import-untyped,unused-ignore]

from ..verify import Decision

_WORDS = {
    "deny": "denied by a person",
    "terminate": "denied by a person, who ended the run",
    "skip": "skipped by a person, which is no refusal",
    "expired": "expired: nobody answered in time",
    "withdrawn": "withdrawn before anybody answered",
    "rejected": "rejected: the console could not read the request",
}


def effective(tool: Tool, args: dict[str, Any]) -> dict[str, Any] | None:
    """What selectools will change after the gate: text turned into numbers, and arguments added unseen."""
    changed: dict[str, Any] = {}
    tried = copy.deepcopy(args)
    with contextlib.suppress(ToolValidationError):
        tool.validate(tried)
    coerced = {key: value for key, value in tried.items() if type(value) is not type(args.get(key))}
    if coerced:
        changed["coerced"] = coerced
    if tool.injected_kwargs:
        changed["injected_names"] = sorted(tool.injected_kwargs)
    return changed or None


def refusal_text(name: str, decision: Decision) -> str:
    """What the model reads of a call that did not run."""
    words = _WORDS.get(decision.verdict, decision.verdict)
    return f"{name} was not run, {words}" + (f": {decision.message}" if decision.message else "")
