"""Claude Code's questions to its user as a form, and the answers as it takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TOOL = "AskUserQuestion"
OWN_WORDS = " (own words)"
"""Behind a question's text: the name of the field beside its options."""


def form(args: Any) -> tuple[str, dict[str, Any]]:
    """Title and schema of the form, as `countersign hook` makes them.

    Raises `ValueError` for questions that cannot be read.
    """
    fields: dict[str, Any] = {}
    headers = []
    try:
        for question in args["questions"]:
            text, options = question["question"], question["options"]
            labels = [option["label"] for option in options]
            if (
                not all(isinstance(one, str) for one in (text, *labels))
                or not labels
                or {text, text + OWN_WORDS} & fields.keys()
            ):
                raise ValueError
            field: dict[str, Any] = {"type": "string", "enum": labels}
            if question.get("multiSelect") is True:
                field = {"type": "array", "items": field, "uniqueItems": True}
            described = [one for one in options if isinstance(one.get("description"), str)]
            field["description"] = "\n".join(f"{one['label']}: {one['description']}" for one in described)
            fields[text] = field
            fields[text + OWN_WORDS] = {"type": "string", "title": "Other answer", "maxLength": 2000}
            header = question.get("header")
            headers.append(header if isinstance(header, str) else text)
        if not headers:
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("its questions cannot be read") from None
    schema = {"type": "object", "properties": fields, "additionalProperties": False}
    return f"Claude Code asks: {', '.join(headers)}", schema


def answered(args: Mapping[str, Any], content: Any) -> dict[str, Any] | None:
    """The arguments with what was answered; None where nothing was."""
    content = content if isinstance(content, dict) else {}
    answers = {}
    for question in args["questions"]:
        text = question["question"]
        labels = content.get(text)
        words = [*(labels if isinstance(labels, list) else [labels]), content.get(text + OWN_WORDS)]
        if said := [one for one in words if isinstance(one, str) and one.strip()]:
            answers[text] = ", ".join(said)
    return {**args, "answers": answers} if answers else None
