"""What a Flexus handler returned, checked and as a span shows it, and the secret that leaves neither."""

from __future__ import annotations

from typing import Any

from ._spans import MAX_PART, MAX_TEXT, _artifact, text_part

MASK = "[fcall_untrusted_key]"


def checked(result: Any) -> tuple[str | None, str | list[Any]]:
    """What is wrong with a handler's result (None: nothing), and its text or its parts.

    A result is a text, a list of parts, or an object with `content` and `multimodal` (the kit's `ToolResult`).
    """
    if hasattr(result, "content") and hasattr(result, "multimodal"):
        if result.multimodal is not None:
            return (
                checked(result.multimodal)
                if isinstance(result.multimodal, list)
                else ("multimodal is not a list", "")
            )
        result = result.content
    if isinstance(result, str):
        return None, result
    if not isinstance(result, list):
        return f"a {type(result).__name__} is not text and no list of parts", ""
    for number, part in enumerate(result):
        if not isinstance(part, dict):
            return f"part {number} is not an object", ""
        for key in ("m_type", "m_content"):
            if not isinstance(part.get(key), str):
                return f"part {number} has no text {key}", ""
    return None, result


def as_output(said: str | list[Any]) -> dict[str, Any]:
    """`output` and `artifacts` of a span: a large part that is no text is named by what identifies it."""
    if isinstance(said, str):
        return {"output": text_part(said)}
    shown: dict[str, Any] = {"output": []}
    for part in said:
        kind, content = part["m_type"], part["m_content"]
        if kind.startswith("text"):
            shown["output"].append({"m_type": kind, "m_content": content[:MAX_TEXT]})
        elif len(content) > MAX_PART:
            artifact = _artifact(content.encode(errors="surrogatepass"), kind)["artifacts"]
            shown["artifacts"] = [*shown.get("artifacts", ()), *artifact]
        else:
            shown["output"].append({"m_type": kind, "m_content": content})
    return shown


def holds(value: Any, secret: str) -> bool:
    """Whether the secret is anywhere in a value."""
    if isinstance(value, dict):
        return any(holds(item, secret) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple):
        return any(holds(item, secret) for item in value)
    return bool(secret) and secret in str(value)


def masked(value: Any, secret: str) -> Any:
    """The value with `MASK` in the place of the secret."""
    if isinstance(value, str):
        return value.replace(secret, MASK) if secret else value
    if isinstance(value, list):
        return [masked(item, secret) for item in value]
    if isinstance(value, dict):
        return {key: masked(item, secret) for key, item in value.items()}
    return value
