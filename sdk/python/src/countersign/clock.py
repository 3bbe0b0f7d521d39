"""The agent's own timer, which counts while the machine sleeps, where the system can tell, and never goes backwards;
and time stamps as they are written."""

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


def parse_rfc3339(text: str) -> dt.datetime:
    """A time stamp of the server or of a payload; nanoseconds are cut to microseconds. Raises `ValueError`."""
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time stamp has a zone")
    return moment
