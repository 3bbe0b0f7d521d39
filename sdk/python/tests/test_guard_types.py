"""What a type checker reads of a guarded function. Mypy is the test: nothing of it happens when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

from countersign import Gate


async def test_a_guarded_function_is_awaited_for_what_it_returns(gate: Gate) -> None:
    @gate.guard("send_mail", risk="medium")
    async def send_mail(to: str, subject: str) -> str:
        return f"sent {subject} to {to}"

    @gate.guard("count_mail", risk="low")
    def count_mail(to: str) -> int:
        return len(to)

    if TYPE_CHECKING:
        assert_type(await send_mail("ada@example.org", subject="Hello"), str)
        assert_type(await count_mail(to="ada@example.org"), int)
