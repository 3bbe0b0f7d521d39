"""The agent's own timer. Counts while the machine sleeps, where the system can tell; never goes backwards."""

from __future__ import annotations

import datetime as dt
import time


def ticks() -> float:
    """Seconds of a clock that only differences of are used. A laptop's sleep counts towards a deadline."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(boottime) if boottime is not None else time.monotonic()


def now() -> dt.datetime:
    """The agent's wall clock, for display on the card only."""
    return dt.datetime.now(dt.UTC)
