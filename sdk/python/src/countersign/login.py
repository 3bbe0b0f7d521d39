"""As whom an agent logs in, and over what.

Refuses to show a login to a server without TLS once TLS was asked for, and to trust the system's authorities beside a
private one.
"""

from __future__ import annotations

import logging
import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from nats.aio.client import Client, RawCredentials
from nats.errors import Error as NatsError

from .enrolment import Enrolment, public_key
from .errors import BusLoginError, BusRefusedError, BusTlsError, EnrolmentError

log = logging.getLogger("countersign")

# What a server says to a login that it does not, or no longer, take; the last is the library's word for the first.
_REFUSED = re.compile(r"authorization violation|authentication (expired|revoked)|authorization failed", re.IGNORECASE)


# In the first line of a message's headers, and nowhere else.
_STATUS = ("Status", "Description")
_OF_A_STORED_MESSAGE = frozenset({"Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp", "Nats-Stream"})


class PlainTextError(NatsError):
    """The server said that it has no TLS, or somebody in between did."""


class NoCertificateError(NatsError):
    """The server asks for a certificate, and the agent has none."""


@dataclass(frozen=True, slots=True)
class Login:
    """Servers, inbox prefix and the options of the NATS client that log in."""

    servers: list[str] = field(repr=False)
    inbox_prefix: str
    tls: bool
    certificate: bool
    options: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, enrolment: Enrolment) -> Login:
        """A .creds file goes before user and password in the URL, and these before the nkey."""
        split = [_server(part.strip()) for part in enrolment.nats_url.split(",")]
        named = next((at for at in split if at.username), None)
        options: dict[str, Any] = {}
        prefix = enrolment.inbox_prefix
        if enrolment.nats_creds is not None:
            text, seed = _creds(enrolment.nats_creds, enrolment.nkey_seed)
            options["user_credentials"] = RawCredentials(text)
            prefix = f"_INBOX_{public_key(seed)}"
        elif named is not None and named.username and named.password is not None:
            options.update(user=unquote(named.username), password=unquote(named.password))
        elif named is not None and named.username:
            options["token"] = unquote(named.username)
        else:
            options["nkeys_seed_str"] = enrolment.nkey_seed
        tls = any(at.scheme == "tls" for at in split) or any(
            (enrolment.tls_ca, enrolment.tls_cert, enrolment.tls_key)
        )
        if tls:
            options["tls"] = _context(enrolment)
        return cls([at.geturl() for at in split], prefix, tls, enrolment.tls_cert is not None, options)


class GuardedClient(Client):
    """A client that sends no login without TLS where TLS was asked for: the library alone believes the server."""

    def __init__(self, login: Login) -> None:
        # Methods of the library's own. Without them those below are never called: the login would go out without
        # TLS, and of two signatures one would be believed.
        if login.tls and not callable(getattr(Client, "_connect_command", None)):
            raise BusTlsError(
                "this version of nats-py cannot be kept from logging in without TLS; "
                "install one that the requirements of countersign name"
            )
        if not all(callable(getattr(Client, name, None)) for name in ("_process_headers", "_process_msg")):
            raise BusRefusedError(
                "this version of nats-py does not show how it reads messages; "
                "install one that the requirements of countersign name",
                code="unknown_library",
            )
        super().__init__()
        self._must_have_tls = login.tls
        self._has_certificate = login.certificate

    @property
    def asked_for_certificate(self) -> bool:
        """Whether the server lets in nobody without a certificate that it trusts."""
        return self._must_have_tls and bool(self._server_info.get("tls_verify"))

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        """Another agent can have the server send an answer to any word under `decided`, also to one that is not text.

        The library would end its reading there, without a word, and hear nothing until its pings went unanswered.
        """
        try:
            await super()._process_msg(sid, subject, reply, data, headers)
        except UnicodeDecodeError:
            log.warning("a message whose subject is not text was left out")

    async def _process_headers(self, headers: bytes | None) -> dict[str, str] | None:
        """Without what a publisher said twice, and without a status that a publisher wrote.

        What the server says of a stored message it adds behind the publisher's lines: there the last one counts. The
        library takes a stored status for the server's own, and drops a message with a status that is not text.
        """
        if not headers:
            return None
        line, _, block = headers.partition(b"\r\n")
        found: dict[str, str] = {}
        twice: set[str] = set()
        for part in block.split(b"\r\n"):
            name, colon, value = (piece.strip().decode(errors="replace") for piece in part.partition(b":"))
            if name in found and name not in _OF_A_STORED_MESSAGE:
                twice.add(name)
            if colon and name not in _STATUS:
                found[name] = value
        # A message that is stored has a sequence.
        status = [] if "Nats-Sequence" in found else line.decode(errors="replace").split(maxsplit=2)[1:]
        return {name: value for name, value in found.items() if name not in twice} | dict(
            zip(_STATUS, status, strict=False)
        )

    def _connect_command(self) -> bytes:
        # The library goes over to TLS, just before this, if and only if the server asked for it.
        if self._must_have_tls and not self._server_info.get("tls_required"):
            raise PlainTextError("the server has no TLS")
        # It says no only after the handshake (TLS 1.3), in a message that the next write may find no more.
        if self.asked_for_certificate and not self._has_certificate:
            raise NoCertificateError("the server asks for a certificate")
        return bytes(super()._connect_command())


def login_fault(error: Exception) -> BusTlsError | BusLoginError | None:
    """What a retry does not fix; None for everything else."""
    if isinstance(error, PlainTextError | NoCertificateError | ssl.SSLError):
        why = getattr(error, "verify_message", None) or getattr(error, "reason", None) or str(error)
        return BusTlsError(
            f"no TLS connection to the bus: {why}; check tls_ca, tls_cert and tls_key in agent.json, "
            "and the host in nats_url"
        )
    if _REFUSED.search(str(error)):
        return BusLoginError("the bus refused the agent's key, JWT or password; enrol the agent again")
    return None


def _server(text: str) -> SplitResult:
    try:
        at = urlsplit(text if "://" in text else f"nats://{text}")
        # Only reading the port finds one that is none.
        known = at.scheme in ("nats", "tls") and bool(at.hostname) and at.port != 0
    except ValueError:
        known = False
    if not known:
        # Not quoted: it may contain a password.
        raise EnrolmentError("agent.json: `nats_url` names each server as nats://HOST:PORT or tls://HOST:PORT")
    return at


def _context(enrolment: Enrolment) -> ssl.SSLContext:
    if (enrolment.tls_cert is None) != (enrolment.tls_key is None):
        raise EnrolmentError("agent.json: `tls_cert` and `tls_key` belong together")
    try:
        # With a file of its own the system's authorities are not loaded.
        context = ssl.create_default_context(cafile=enrolment.tls_ca)
        # Python 3.13 would refuse certificates of many a private authority that all earlier ones, and consoles, take.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if enrolment.tls_cert is not None:
            context.load_cert_chain(enrolment.tls_cert, enrolment.tls_key)
    except (OSError, ValueError) as error:
        raise EnrolmentError(
            f"agent.json: the files of `tls_ca`, `tls_cert` and `tls_key` cannot be used: {error}"
        ) from error
    return context


def _creds(path: str, enrolled_seed: str | None) -> tuple[str, str]:
    try:
        text = Path(path).read_text(encoding="ascii")
    except (OSError, ValueError) as error:
        raise EnrolmentError(f"agent.json: `nats_creds` cannot be read: {error}") from error
    jwt = _section(text, "NATS USER JWT")
    seed = _section(text, "USER NKEY SEED") or enrolled_seed
    if jwt is None or seed is None:
        raise EnrolmentError(f"{path} holds no user JWT, or there is no seed for it")
    text = (
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )
    return text, seed


def _section(text: str, name: str) -> str | None:
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("-") and f"BEGIN {name}" in line:
            found = next((after.strip() for after in lines if after.strip()), "-")
            return None if found.startswith("-") else found
    return None
