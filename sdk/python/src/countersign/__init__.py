"""Ask a person before an agent's tool call runs. The Python client of Countersign (protocol v1).

Anything that goes wrong here means "do not run": every error is a `CountersignError`, none of them allows.
"""

from .digest import args_digest, payload_digest, selectools64
from .enrolment import Enrolment, LogHead
from .errors import (
    AlreadyAskedError,
    ArgumentsChangedError,
    BusLoginError,
    BusRefusedError,
    BusTlsError,
    BusUnreachableError,
    CountersignError,
    EnrolmentError,
    GateClosedError,
    InvalidRequestError,
    JournalError,
    NotAllowedError,
    TooManyWaitingError,
    VoidDecisionError,
)
from .gate import Gate
from .refusal import refusal_text
from .sync import SyncGate
from .verify import Decision
from .wire import Ask, Effective, Form, Question, Span, ToolCall
from .words import Answer, Effects, Risk, Stage, Verdict

__all__ = [
    "AlreadyAskedError",
    "Answer",
    "ArgumentsChangedError",
    "Ask",
    "BusLoginError",
    "BusRefusedError",
    "BusTlsError",
    "BusUnreachableError",
    "CountersignError",
    "Decision",
    "Effective",
    "Effects",
    "Enrolment",
    "EnrolmentError",
    "Form",
    "Gate",
    "GateClosedError",
    "InvalidRequestError",
    "JournalError",
    "LogHead",
    "NotAllowedError",
    "Question",
    "Risk",
    "Span",
    "Stage",
    "SyncGate",
    "TooManyWaitingError",
    "ToolCall",
    "Verdict",
    "VoidDecisionError",
    "args_digest",
    "payload_digest",
    "refusal_text",
    "selectools64",
]
