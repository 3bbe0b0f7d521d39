"""Typed errors. None of them ever means "allowed": whoever catches one must not run the call.

Each class has a stable `code` (a machine reads it, text may change) and a message that says what to do next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .verify import Decision
    from .words import Answer


def _rebuilt(kind: type[CountersignError], *args: Any) -> CountersignError:
    return kind.__new__(kind, *args)


class CountersignError(Exception):
    """Base of every error of this package. `code` is stable; a subclass may narrow it per instance."""

    code: str = "failed"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        # Python would call the class with the message alone, and an error that cannot be read back ends a whole pool
        # of processes.
        return _rebuilt, (type(self), *self.args), self.__dict__


class EnrolmentError(CountersignError):
    """The enrolment file is missing, unreadable or incomplete. Run `countersign enroll WS/AGENT` again."""

    code = "enrolment"


class InvalidRequestError(CountersignError):
    """The request would be rejected (protocol, section 2); nothing was sent. `code` is the protocol's word."""

    code = "invalid_request"


class BusUnreachableError(CountersignError):
    """The bus did not answer in time. The call must not run."""

    code = "bus_unreachable"


class BusRefusedError(CountersignError):
    """The bus answered with an error (missing permission, full stream). The call must not run."""

    code = "bus_refused"


class BusTlsError(CountersignError):
    """The bus speaks no TLS that can be trusted. Nothing was sent without it. Check `tls_ca`, `tls_cert` and
    `tls_key` in agent.json, and the host in `nats_url`."""

    code = "bus_tls"


class BusLoginError(CountersignError):
    """The bus refused the agent's key, JWT or password. Enrol the agent again."""

    code = "bus_login_refused"


class GateClosedError(CountersignError):
    """The gate was closed while, or before, the request was waiting."""

    code = "gate_closed"


class AlreadyAskedError(CountersignError):
    """This id has a request already: in this gate (`already_waiting`), or on the bus, from an earlier life of
    this agent or another instance (`already_asked`). Its answer is not this call's. Ask with a new id."""

    code = "already_asked"


class JournalError(CountersignError):
    """The folder of pending asks cannot be written or read; nothing was asked and nothing may run. Check its disk and
    its permissions."""

    code = "journal"


class TooManyWaitingError(CountersignError):
    """More requests wait than the gate's limit allows. Ask again when some were decided."""

    code = "too_many_waiting"


class VoidDecisionError(CountersignError):
    """The stored decision does not verify (protocol, section 5). `code` names the first check that failed."""

    code = "void"

    def __init__(self, message: str, *, code: str, stored: Any = None) -> None:
        super().__init__(message, code=code)
        self.stored = stored
        """The message that was judged (`log.Stored`), for the receipt."""


class NotAllowedError(CountersignError):
    """A guarded function was not run. `verdict` says denied, skipped, expired or withdrawn.

    The message holds the operator's text, if there was one. `decision` is the whole answer, with the `response` to
    one that was answered by `respond`; None where the call could not be asked about any more.
    """

    code = "not_allowed"

    def __init__(self, message: str, *, verdict: Answer, decision: Decision | None = None) -> None:
        super().__init__(message, code=verdict)
        self.verdict = verdict
        self.decision = decision


class ArgumentsChangedError(CountersignError):
    """What would run has other arguments than were approved, or cannot take them. Nothing was run."""

    code = "digest_differs"
