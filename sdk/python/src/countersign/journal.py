"""Asks that survive their process: a folder with one file a key (integrations, section 2).

An entry is written and flushed before its request is published, and marked before its answer is handed out. So a
process that dies between any two steps finds its own request again, and an answer is handed out once.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock

from . import clock
from .digest import payload_digest
from .enrolment import Enrolment
from .errors import AlreadyAskedError, InvalidRequestError, JournalError
from .wire import SentRequest, rebuild_request

log = logging.getLogger("countersign")

VERSION = 1
KEPT_AFTER_DEADLINE = dt.timedelta(days=1)
MAX_KEY_LENGTH = 1024
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Timer:
    """When a request's timer began: by the clock that counts sleep on the same boot, else by the wall clock."""

    boot: str | None
    ticks: float
    wall: float

    @classmethod
    def started_now(cls) -> Timer:
        """A timer that begins now."""
        return cls(_boot_id(), clock.ticks(), clock.now().timestamp())

    def elapsed(self) -> float:
        """Seconds since it began; infinite where a clock went back."""
        if self.boot is not None and self.boot == _boot_id():
            passed = clock.ticks() - self.ticks
        else:
            passed = clock.now().timestamp() - self.wall
        return passed if passed >= 0 else float("inf")


@dataclass(slots=True)
class Entry:
    """One key, held by this process. `waiting` is the request whose answer was not handed out yet."""

    path: Path
    scope: dict[str, str]
    waiting: SentRequest | None = None
    seconds_left: float = 0.0

    def begin(self, request: SentRequest) -> None:
        """Keep a request before it is published. Raises `JournalError`."""
        timer = Timer.started_now()
        body = {
            "v": VERSION,
            **self.scope,
            "payload": request.payload.decode(),
            "lifetime_ms": request.lifetime // dt.timedelta(milliseconds=1),
            "boot": timer.boot,
            "ticks": timer.ticks,
            "wall": timer.wall,
        }
        _write(self.path, json.dumps(body).encode())
        self.waiting, self.seconds_left = request, request.lifetime.total_seconds()

    def end(self) -> None:
        """Mark that the answer is handed out: the next ask under this key is a new request. Raises `JournalError`."""
        try:
            self.path.unlink(missing_ok=True)
            _flush_folder(self.path.parent)
        except OSError as error:
            raise JournalError(f"cannot mark {self.path}: {error.strerror}; the answer is not handed out") from error
        self.waiting = None


class Journal:
    """The folder. Entries of another realm, workspace or agent, and those that cannot be read, count as none."""

    def __init__(self, folder: str | os.PathLike[str], enrolment: Enrolment) -> None:
        self._folder = Path(folder)
        self._scope = {"realm": enrolment.realm, "workspace": enrolment.workspace, "agent": enrolment.agent}
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise JournalError(f"cannot make the folder {self._folder}: {error.strerror}") from error

    def remove_old(self) -> None:
        """Remove entries that are older than their deadline plus a day."""
        for path in self._folder.glob("*.json"):
            found = _read(path)
            with contextlib.suppress(OSError, filelock.Timeout):
                age = clock.now().timestamp() - (found["wall"] if found else path.stat().st_mtime)
                lifetime = found["lifetime_ms"] / 1000 if found else 0.0
                if age > lifetime + KEPT_AFTER_DEADLINE.total_seconds():
                    with _lock(path):
                        path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def held(self, key: str) -> Iterator[Entry]:
        """The entry of a key, which no other process or task has meanwhile.

        Raises `AlreadyAskedError` (`already_waiting`) where one has it, and `JournalError`.
        """
        if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY_LENGTH:
            raise InvalidRequestError(f"a key is a text of 1 to {MAX_KEY_LENGTH} characters", code="wrong_type")
        scoped = json.dumps([*self._scope.values(), key]).encode()
        path = self._folder / f"{hashlib.sha256(scoped).hexdigest()[:40]}.json"
        lock = _lock(path)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise AlreadyAskedError(
                f"{key!r} is already waiting, in this or another process", code="already_waiting"
            ) from None
        except OSError as error:
            raise JournalError(f"cannot lock {path}: {error.strerror}; nothing was asked") from error
        try:
            yield self._entry(path)
        finally:
            lock.release()

    @contextlib.contextmanager
    def kept(self, request_id: str) -> Iterator[Entry | None]:
        """The entry of a request that nobody waits for at present; None where there is none."""
        for path in self._folder.glob("*.json"):
            with contextlib.ExitStack() as held:
                try:
                    held.enter_context(_lock(path))
                except (OSError, filelock.Timeout):
                    continue
                entry = self._entry(path)
                if entry.waiting is not None and entry.waiting.request_id == request_id:
                    yield entry
                    return
        yield None

    def _entry(self, path: Path) -> Entry:
        entry = Entry(path, self._scope)
        found = _read(path)
        if found is None or any(found.get(name) != value for name, value in self._scope.items()):
            return entry
        lifetime = dt.timedelta(milliseconds=found["lifetime_ms"])
        request = rebuild_request(found["payload"].encode(), lifetime)
        if request is None or (request.workspace, request.agent) != (self._scope["workspace"], self._scope["agent"]):
            log.warning("%s holds no request and is not used", path)
            return entry
        timer = Timer(found["boot"], found["ticks"], found["wall"])
        entry.waiting, entry.seconds_left = request, lifetime.total_seconds() - timer.elapsed()
        return entry


def same_call(one: SentRequest, other: SentRequest) -> bool:
    """Whether two requests ask the same: kind, tool or question, and arguments."""
    return _asked(one) == _asked(other)


def _asked(request: SentRequest) -> str:
    body = json.loads(request.payload)
    tool = body.get("tool") or {}
    asked = [request.kind, tool.get("name"), tool.get("namespace"), request.args_digest]
    asked += [body.get("question"), body.get("response_schema")]
    return payload_digest(json.dumps(asked, sort_keys=True).encode())


def _lock(path: Path) -> filelock.BaseFileLock:
    # The system ends the lock with its process; the file stays, as removing it would let two hold it.
    return filelock.FileLock(path.with_suffix(".lock"), timeout=0, mode=0o600, thread_local=False)


def _read(path: Path) -> dict[str, Any] | None:
    """An entry's content; None where there is none that can be read."""
    try:
        body = json.loads(path.read_bytes())
        kinds = {"payload": str, "lifetime_ms": int, "ticks": float | int, "wall": float | int, "boot": str | None}
        if body["v"] == VERSION and all(isinstance(body[name], kind) for name, kind in kinds.items()):
            return dict(body)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    log.warning("%s cannot be read and is not used", path)
    return None


def _write(path: Path, content: bytes) -> None:
    """All of it or nothing, on the disk when this returns."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".entry-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        _flush_folder(path.parent)
    except OSError as error:
        raise JournalError(f"cannot write {path}: {error.strerror}; nothing was asked") from error


def _flush_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _boot_id() -> str | None:
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return None
