"""Who this agent is and whom it believes: the `agent.json` that `countersign enroll` wrote.

Refuses to start without trusted keys unless `insecure` is set: an agent that believes nobody in particular
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

from .clock import is_rfc3339
from .errors import EnrolmentError
from .signature import decode_public_key
from .words import RISKS

log = logging.getLogger("countersign")

ENV = "COUNTERSIGN_AGENT_JSON"

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
"""Grammar of workspace and agent names (protocol, "Names")."""

REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

ROLES = ("human", "auto")

FILES = ("tls_ca", "tls_cert", "tls_key", "nats_creds")
"""Fields that name a file; in `agent.json` they are relative to it."""


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A key that may sign decisions. `role` is `human` or `auto`; `since` and `until` are server time, RFC 3339."""

    key: str
    name: str
    role: str
    since: str | None = None
    until: str | None = None
    workspaces: tuple[str, ...] | None = None
    """The only workspaces in which it may say more than no; None: all."""
    max_risk: str | None = None
    """The highest risk at which it may say more than no; None: any. An unknown word reads `safe`."""
    took_over: str | None = None
    """The key of the same person from which it has taken over, by that key's own word."""

    @classmethod
    def parse(cls, value: Any) -> TrustedKey:
        """From an entry of `trusted_keys` or of `operators`. Raises `ValueError` on any other shape."""
        if not isinstance(value, dict):
            raise ValueError("a trusted key is an object")
        key, name, role = value.get("key"), value.get("name"), value.get("role")
        if not isinstance(key, str) or not isinstance(name, str) or role not in ROLES:
            raise ValueError("a trusted key has `key`, `name` and a `role` of human or auto")
        decode_public_key(key)
        since, until = value.get("from"), value.get("until")
        for stamp in (since, until):
            # One that cannot be read would be met when a decision is judged, by who cannot answer for it.
            if stamp is not None and not (isinstance(stamp, str) and is_rfc3339(stamp)):
                raise ValueError("`from` and `until` are time stamps such as 2026-11-21T12:00:00.000Z")
        workspaces, max_risk = value.get("workspaces"), value.get("max_risk")
        if workspaces is not None:
            if not isinstance(workspaces, list) or not all(isinstance(name, str) for name in workspaces):
                raise ValueError("`workspaces` is a list of names")
            workspaces = tuple(workspaces)
        if max_risk is not None and max_risk not in RISKS:
            max_risk = RISKS[0]
        return cls(key, name, role, since, until, workspaces, max_risk)

    def is_limited(self) -> bool:
        """Whether it has any limit."""
        return self.workspaces is not None or self.max_risk is not None

    def may_allow(self, workspace: str, risk: str) -> bool:
        """Whether its limits let it say more than no to a request of this workspace and effective risk."""
        if self.workspaces is not None and workspace not in self.workspaces:
            return False
        return self.max_risk is None or RISKS.index(risk) <= RISKS.index(self.max_risk)


@dataclass(frozen=True, slots=True)
class Enrolment:
    """The content of `agent.json` (protocol, section 5). What is secret, or may hold a password, is not in `repr`."""

    nats_url: str = field(repr=False)
    workspace: str
    agent: str
    nkey_seed: str | None = field(repr=False)
    inbox_prefix: str
    realm: str
    trusted_keys: tuple[TrustedKey, ...]
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
        listed = value.get("trusted_keys", [])
        if not isinstance(listed, list):
            raise EnrolmentError(f"{name}: `trusted_keys` is not a list")
        try:
            keys = tuple(TrustedKey.parse(entry) for entry in listed)
        except ValueError as error:
            raise EnrolmentError(f"{name}: {error}") from error
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
            return cls(url, workspace, agent, seed, prefix.rstrip("."), realm, keys, **files)
        except EnrolmentError as error:
            raise EnrolmentError(f"{name}: {error}") from error


def public_key(seed: str) -> str:
    """The nkey of a seed. Raises `EnrolmentError`."""
    try:
        public: bytes = nkeys.from_seed(bytearray(seed.encode())).public_key
    except Exception as error:  # the library raises bare types of its own on a malformed seed
        raise EnrolmentError("`nkey_seed` is not an nkey seed; run `countersign enroll` again") from error
    return public.decode()
