"""What a person reads of a selectools call beside its arguments."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

from selectools import Tool  # type: ignore[import-untyped,unused-ignore]
from selectools.exceptions import ToolValidationError  # type: ignore[import-untyped,unused-ignore]

from ..wire import Effective


def effective(tool: Tool, args: dict[str, Any]) -> Effective | None:
    """What selectools will change after the gate: text turned into numbers, and arguments added unseen."""
    changed: Effective = {}
    tried = copy.deepcopy(args)
    with contextlib.suppress(ToolValidationError):
        tool.validate(tried)
    coerced = {key: value for key, value in tried.items() if type(value) is not type(args.get(key))}
    if coerced:
        changed["coerced"] = coerced
    if tool.injected_kwargs:
        changed["injected_names"] = sorted(tool.injected_kwargs)
    return changed or None


def flags(tool: Tool | None) -> dict[str, bool]:
    """What a person has to know of the tool: it ends the run, its output is screened. Those that are true."""
    return {name: True for name in ("terminal", "screen_output") if getattr(tool, name, False) is True}
