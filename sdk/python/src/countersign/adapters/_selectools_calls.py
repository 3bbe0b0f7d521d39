"""What the selectools adapter remembers of a call, and of one that asks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from ._spans import CallSpan


@dataclass
class Known:
    """What an observer saw of a call. Holds `args` so that its identity stays its own."""

    tool_name: str
    args: dict[str, Any]
    run_id: str
    seen_at: float
    span: CallSpan
    task: asyncio.Task[Any] | None
    """The task that waits for the call, under `arun`."""


@dataclass
class Question:
    """One call that asks."""

    name: str
    args: dict[str, Any]
    reason: str
    known: Known | None
    within: float | None
    editable: bool = True
    preview: str | None = None
