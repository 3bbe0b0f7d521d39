"""What a model reads of a call that did not run (integrations, section 1): one sentence, the same in every SDK."""

from __future__ import annotations

import json
from typing import Any

from .errors import CountersignError, NotAllowedError
from .verify import Decision

# Where a verdict says more than "denied by WHO".
_SENTENCES = {
    "deny": "denied by {who}",
    "terminate": "denied by {who}, who ended the run",
    "skip": "skipped by {who} (not a refusal)",
    "escalate": "escalated by {who} to the next approver",
    "expired": "expired: nobody answered in time",
    "withdrawn": "withdrawn before anybody answered",
    "rejected": "rejected: the console could not read the request",
}


def refusal_text(name: str, outcome: Decision | BaseException) -> str:
    """Why the call of tool `name` did not run, for the model. `outcome` is the decision or what was raised.

    A `respond` comes with its content: where that can take the place of the tool's result, use the content alone.
    """
    if isinstance(outcome, NotAllowedError) and outcome.decision is not None:
        outcome = outcome.decision
    if isinstance(outcome, BaseException):
        code = outcome.code if isinstance(outcome, CountersignError) else "failed"
        text = str(outcome) if isinstance(outcome, CountersignError) else type(outcome).__name__
        return f"{name} was not run: could not get approval ({code}): {text}"
    who = _who(outcome)
    verdict = outcome.payload.get("verdict", outcome.verdict)
    if outcome.verdict == "respond":
        sentence = f"answered by {who} instead: {as_text(response_content(outcome))}"
    elif outcome.verdict == "deny" and verdict != "deny":
        sentence = f"not allowed ({verdict})"
    else:
        sentence = _SENTENCES.get(outcome.verdict, f"not allowed ({outcome.verdict})").format(who=who)
    said = f": {outcome.message}" if outcome.message else ""
    return f"{name} was not run, {sentence}{said}"


def edit_notice(decision: Decision) -> str:
    """What a model reads before the result of a call whose arguments a person changed."""
    arguments = json.dumps(decision.args, ensure_ascii=False)
    return f"A person changed this call before it ran. It ran with {arguments}.\n"


def response_content(decision: Decision) -> Any:
    """What a person answered in the call's place."""
    return (decision.response or {}).get("content")


def as_text(content: Any) -> str:
    """A text as it is, anything else as JSON."""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _who(decision: Decision) -> str:
    rule = decision.payload.get("rule")
    if decision.origin == "setup_key":
        return "a setup key"
    if decision.origin == "rule" and isinstance(rule, dict):
        return f"the rule {rule.get('name')}"
    name = (decision.decided_by or {}).get("name")
    return name if isinstance(name, str) and name else "the console"
