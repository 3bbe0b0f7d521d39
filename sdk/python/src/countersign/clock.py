"""The agent's own timer, which counts while the machine sleeps, where the system counts it, and never goes backwards;
and time stamps as they are written."""

from __future__ import annotations

import calendar
import datetime as dt
import re
import time

_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)


def ticks() -> float:
    """Seconds of a clock that only differences of are used. A laptop's sleep counts towards a deadline."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(boottime) if boottime is not None else time.monotonic()


def now() -> dt.datetime:
    """The agent's wall clock, for display on the card only."""
    return dt.datetime.now(dt.UTC)


def is_rfc3339(text: str) -> bool:
    """Whether `parse_rfc3339` reads it."""
    try:
        parse_rfc3339(text)
    except ValueError:
        return False
    return True


def parse_rfc3339(text: str) -> dt.datetime:
    """A time stamp of the server or of a payload, in UTC; nanoseconds are cut to microseconds. Raises `ValueError`.

    As RFC 3339 writes them, of the years 1 to 9999 in UTC. A leap second, which can only end a month in UTC, reads as
    the last moment before it ends.
    """
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise ValueError("not an RFC 3339 time stamp")
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    fraction, sign, ahead_hours, ahead_minutes = found.groups()[6:]
    ahead = dt.timedelta(hours=int(ahead_hours or 0), minutes=int(ahead_minutes or 0))
    if int(ahead_hours or 0) > 23 or int(ahead_minutes or 0) > 59:
        raise ValueError("no offset")
    leap = second == 60
    parts = (59, 999_999) if leap else (second, int((fraction or "0")[:6].ljust(6, "0")))
    moment = dt.datetime(year, month, day, hour, minute, *parts, tzinfo=dt.UTC)
    try:
        moment = moment + ahead if sign == "-" else moment - ahead
    except OverflowError as error:
        raise ValueError("not of the years 1 to 9999 in UTC") from error
    last = calendar.monthrange(moment.year, moment.month)[1]
    if leap and (moment.day, moment.hour, moment.minute) != (last, 23, 59):
        raise ValueError("no leap second ends there")
    return moment


def rfc3339(moment: dt.datetime) -> str:
    """RFC 3339 in UTC with milliseconds, the protocol's spelling."""
    return moment.astimezone(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
