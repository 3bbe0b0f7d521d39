"""Who this agent is and whom it believes: the `agent.json` that `countersign enroll` wrote.

Refuses to start without a log of operators unless `insecure` is set: an agent that believes nobody in particular
believes everybody.
"""

from __future__ import annotations

import json
import logging
import os
import re
import stat
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nkeys  # type: ignore[import-untyped]

from .errors import EnrolmentError
from .signature import is_digest

log = logging.getLogger("countersign")

ENV = "COUNTERSIGN_AGENT_JSON"

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
"""Grammar of workspace and agent names (protocol, "Names")."""

REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

FILES = ("tls_ca", "tls_cert", "tls_key", "nats_creds")
"""Fields that name a file; in `agent.json` they are relative to it."""


@dataclass(frozen=True, slots=True)
class LogHead:
    """Which log of operators an agent believes: the digest of its entry 1, and number and digest of its last entry
    when the agent was enrolled."""

    root: str
    n: int
    digest: str

    @classmethod
    def parse(cls, value: Any) -> LogHead:
        """From `log` of `agent.json`. Raises `ValueError` on any other shape."""
        found = [value.get(name) if isinstance(value, dict) else None for name in ("root", "n", "digest")]
        root, n, digest = found
        if not (is_digest(root) and is_digest(digest) and type(n) is int and n > 0):
            raise ValueError("`log` is not {root, n, digest}")
        return cls(root, n, digest)


@dataclass(frozen=True, slots=True)
class Enrolment:
    """The content of `agent.json` (protocol, section 5). What is secret, or may hold a password, is not in `repr`."""

    nats_url: str = field(repr=False)
    workspace: str
    agent: str
    nkey_seed: str | None = field(repr=False)
    inbox_prefix: str
    realm: str
    log: LogHead | None = None
    """None: it believes nobody, and is good for a trial only."""
    tls_ca: str | None = None
    """PEM of the authorities that may sign the bus's certificate; without it the system's. Asks for TLS."""
    tls_cert: str | None = None
    """PEM of this agent's own certificate for TLS; needs `tls_key`."""
    tls_key: str | None = field(default=None, repr=False)
    nats_creds: str | None = None
    """A .creds file. A seed in it goes before `nkey_seed`, and the inbox prefix is then that of its key."""

    def __post_init__(self) -> None:
        """Raises `EnrolmentError` where the seed is none, or `inbox_prefix` is not that of its key."""
        # A .creds file brings its own key.
        if self.nkey_seed and self.nats_creds is None and self.inbox_prefix != f"_INBOX_{public_key(self.nkey_seed)}":
            raise EnrolmentError("`inbox_prefix` is not that of `nkey_seed`; run `countersign enroll` again")

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Enrolment:
        """Read `path`, or the file that `COUNTERSIGN_AGENT_JSON` names. Raises `EnrolmentError`."""
        chosen = path if path is not None else os.environ.get(ENV)
        if not chosen:
            raise EnrolmentError(f"no agent.json given; pass its path or set {ENV}")
        file = Path(chosen)
        try:
            content = file.read_bytes()
            mode = stat.S_IMODE(file.stat().st_mode)
        except (OSError, ValueError) as error:  # no path may hold a NUL
            why = error.strerror if isinstance(error, OSError) else error
            raise EnrolmentError(f"cannot read {file}: {why}; run `countersign enroll`") from error
        if os.name == "posix" and mode & 0o077:
            log.warning("%s holds a secret and others can read it; run: chmod 600 %s", file, file)
        try:
            value = json.loads(content.decode())
        except (ValueError, RecursionError) as error:
            raise EnrolmentError(f"{file} is not JSON in UTF-8; run `countersign enroll` again") from error
        if isinstance(value, dict):
            # The file names others relative to itself.
            for name in FILES:
                if isinstance(value.get(name), str):
                    value[name] = str(file.parent / value[name])
        return cls.parse(value, name=str(file))

    @classmethod
    def parse(cls, value: Any, *, name: str = "agent.json") -> Enrolment:
        """From the parsed JSON. `name` is used in messages only. Raises `EnrolmentError`."""
        if not isinstance(value, dict):
            raise EnrolmentError(f"{name} is not an object")

        def text(field_name: str) -> str:
            found = value.get(field_name)
            if not isinstance(found, str) or not found:
                raise EnrolmentError(f"{name} has no `{field_name}`; run `countersign enroll` again")
            return found

        workspace, agent = text("workspace"), text("agent")
        for label in (workspace, agent):
            if not NAME.fullmatch(label):
                raise EnrolmentError(f"{name}: {label!r} is not a workspace or agent name")
        seed = value.get("nkey_seed")
        if seed is not None and not isinstance(seed, str):
            raise EnrolmentError(f"{name}: `nkey_seed` is not text")
        try:
            head = LogHead.parse(value["log"]) if value.get("log") is not None else None
        except ValueError as error:
            raise EnrolmentError(f"{name}: {error}; run `countersign enroll` again") from error
        prefix = value.get("inbox_prefix")
        if not isinstance(prefix, str | None):
            raise EnrolmentError(f"{name}: `inbox_prefix` is not text")
        files = {name: value.get(name) for name in FILES}
        for name_of_file, path in files.items():
            if not isinstance(path, str | None):
                raise EnrolmentError(f"{name}: `{name_of_file}` is not a path")
        url = text("nats_url")
        try:
            # Signatures name it in this form.
            realm = str(uuid.UUID(text("realm")))
        except ValueError as error:
            raise EnrolmentError(f"{name}: `realm` is not a UUID; run `countersign enroll` again") from error
        try:
            prefix = prefix or (f"_INBOX_{public_key(seed)}" if seed else "_INBOX")
            return cls(url, workspace, agent, seed, prefix.rstrip("."), realm, head, **files)
        except EnrolmentError as error:
            raise EnrolmentError(f"{name}: {error}") from error


def public_key(seed: str) -> str:
    """The nkey of a seed. Raises `EnrolmentError`."""
    try:
        public: bytes = nkeys.from_seed(bytearray(seed.encode())).public_key
    except Exception as error:  # the library raises bare types of its own on a malformed seed
        raise EnrolmentError("`nkey_seed` is not an nkey seed; run `countersign enroll` again") from error
    return public.decode()
