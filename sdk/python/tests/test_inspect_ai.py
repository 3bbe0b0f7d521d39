"""The approver of Inspect AI within real evaluations; the model is a mock (integrations, 3.4)."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from countersign import Enrolment
from countersign.adapters import inspect_ai as adapter
from inspect_ai import Task, eval_async
from inspect_ai.approval import Approval, ApprovalPolicy, approver
from inspect_ai.dataset import Sample
from inspect_ai.event import ApprovalEvent
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ChatMessageTool,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import ToolCall, ToolCallContent, ToolCallView, tool

from asked import Asked
from conftest import SOON
from console import canonical_digest

ARGS = {"to": "ada", "n": 1}
SECRET = "sk-planted-7f3a"


def turn(*calls: dict, said: str = "I pay.") -> ModelOutput:
    wanted = [ToolCall(id=f"call_{n}", function="pay", arguments=args) for n, args in enumerate(calls)]
    message = ChatMessageAssistant(content=said, tool_calls=wanted)
    choice = ChatCompletionChoice(message=message, stop_reason="tool_calls")
    return ModelOutput(model="mock", choices=[choice], usage=ModelUsage())


def done() -> ModelOutput:
    # With its usage: the mock would load a tokenizer from the network to count it.
    output = ModelOutput.from_content("mock", "done")
    output.usage = ModelUsage()
    return output


class Evaluation:
    """One sample whose model plays a script, with one tool that notes what it ran with."""

    def __init__(self, folder, agent_json, *turns: ModelOutput, policies=None, **options) -> None:
        self.folder = folder
        self.turns = [*turns, done()]
        self.ran: list[dict] = []
        mine = ApprovalPolicy(adapter.console(agent_json=str(agent_json), **options), "*")
        self.policies = [mine, *(policies or [])]
        self.log: Any = None

    def start(self, approval=None) -> asyncio.Task:
        return asyncio.ensure_future(self._run(approval))

    async def _run(self, approval) -> None:
        ran = self.ran

        def view(call: ToolCall) -> ToolCallView:
            content = ToolCallContent(format="text", content=f"Pays {call.arguments.get('to')}")
            return ToolCallView(call=content)

        @tool(viewer=view)
        def pay():
            async def execute(to: str, n: int) -> str:
                """Pays somebody.

                Args:
                    to: Whom.
                    n: How much.
                """
                ran.append({"to": to, "n": n})
                if to == "nobody":
                    raise PermissionError(SECRET)
                return f"paid {to}"

            return execute

        task = Task(dataset=[Sample(input="pay the invoices", target="x")], solver=[use_tools(pay()), generate()])
        [self.log] = await eval_async(
            task,
            model=get_model("mockllm/model", custom_outputs=self.turns),
            approval=approval or self.policies,
            log_dir=str(self.folder / "logs"),
        )

    @property
    def read(self) -> list[str]:
        """What the model read as results of its calls."""
        messages = [m for m in self.log.samples[0].messages if isinstance(m, ChatMessageTool)]
        return [m.error.message if m.error else m.text for m in messages]

    @property
    def approvals(self) -> list[ApprovalEvent]:
        return [event for event in self.log.samples[0].events if isinstance(event, ApprovalEvent)]


@pytest.fixture
def asked(console):
    return Asked(console)


@pytest.fixture
def evaluation(tmp_path, agent_json):
    yield lambda *turns, **options: Evaluation(tmp_path, agent_json, *turns, **options)
    for gate in adapter._gates.values():
        adapter._close(gate)
    adapter._gates.clear()


async def test_an_approved_call_runs_and_its_receipt_and_metadata_say_so(evaluation, asked):
    run = evaluation(turn(ARGS), risk="low", risks={"pay*": "high"})
    working = run.start()
    card = await asked.card(working)
    assert (card["tool"]["name"], card["args"], card["risk"]) == ("pay", ARGS, "high")
    assert (card["preview"], card["reason"], card["call_id"]) == ("Pays ada", "I pay.", "call_0")
    assert card["tool"]["description"].startswith("Pays somebody.")
    assert card["tool"]["args_schema"]["required"] == ["to", "n"]
    assert card["allowed_verdicts"] == ["approve", "modify", "deny", "skip", "terminate", "escalate"]
    assert card["history"][0] == {"role": "user", "content": "pay the invoices"}
    assert card["agent"]["framework"] == "inspect-ai"
    assert card["thread_id"]
    assert card["run_id"]
    assert "group" not in card
    await asked.answer(card)
    await asyncio.wait_for(working, SOON)
    assert (run.ran, run.read, run.log.status) == ([ARGS], ["paid ada"], "success")
    assert (await asked.receipt(card, "executed"))["executed_args_digest"] == canonical_digest(ARGS)
    [event] = run.approvals
    said = event.metadata["countersign"]
    assert (event.approver, event.decision, event.explanation) == (event.approver, "approve", "approved by Ada")
    assert (said["request_id"], said["decided_by"]["name"]) == (card["request_id"], "Ada")
    assert said["decision_id"] == (await asked.receipt(card, "executed"))["decision_id"]
    span = await asked.span(card, "ok")
    assert span["request_id"] == card["request_id"]


async def test_an_edited_call_runs_as_edited(evaluation, asked):
    run = evaluation(turn(ARGS))
    working = run.start()
    card = await asked.card(working)
    edited = {"to": "grace", "n": 2}
    await asked.edit(card, edited)
    await asyncio.wait_for(working, SOON)
    assert (run.ran, run.read) == ([edited], ["paid grace"])
    assert (await asked.receipt(card, "received"))["degraded"] == ["edit_notice"]
    assert (await asked.receipt(card, "executed"))["executed_args_digest"] == canonical_digest(edited)


@pytest.mark.parametrize("edit", [{"to": "grace", "n": "many"}, ["grace"]])
async def test_an_edit_that_the_tool_does_not_take_does_not_run(evaluation, asked, edit):
    run = evaluation(turn(ARGS))
    working = run.start()
    card = await asked.card(working)
    await asked.edit(card, edit)
    await asyncio.wait_for(working, SOON)
    assert run.ran == []
    assert (await asked.receipt(card, "refused"))["message"] == "invalid_args"


REFUSALS = [
    ("deny", {"message": "wrong payee"}, "pay was not run, denied by Ada: wrong payee", "denied"),
    ("skip", {}, "pay was not run, skipped by Ada (not a refusal)", "cancelled"),
    ("nod", {}, "pay was not run, not allowed (nod)", "denied"),
]


@pytest.mark.parametrize(("verdict", "fields", "words", "status"), REFUSALS, ids=[row[0] for row in REFUSALS])
async def test_what_is_rejected_is_told_in_words(evaluation, asked, verdict, fields, words, status):
    run = evaluation(turn(ARGS))
    working = run.start()
    card = await asked.card(working)
    await asked.answer(card, verdict, **fields)
    await asyncio.wait_for(working, SOON)
    assert (run.ran, run.read) == ([], [words])
    assert run.approvals[0].decision == "reject"
    await asked.span(card, status)


async def test_terminate_ends_the_sample(evaluation, asked):
    run = evaluation(turn(ARGS), turn(ARGS))
    working = run.start()
    await asked.answer(await asked.card(working), "terminate")
    await asyncio.wait_for(working, SOON)
    assert (run.ran, run.approvals[0].decision) == ([], "terminate")
    await asked.none_came()


async def test_escalate_lets_the_policys_next_approver_decide(evaluation, asked):
    heard: list[str] = []

    @approver(name="next")
    def following():
        async def approve(message, call, view, history):
            heard.append(call.function)
            return Approval(decision="approve")

        return approve

    run = evaluation(turn(ARGS), policies=[ApprovalPolicy(following(), "*")])
    working = run.start()
    await asked.answer(await asked.card(working), "escalate")
    await asyncio.wait_for(working, SOON)
    assert (heard, run.ran) == (["pay"], [ARGS])
    assert [event.decision for event in run.approvals] == ["escalate", "approve"]


async def test_escalate_without_a_next_approver_runs_nothing(evaluation, asked):
    run = evaluation(turn(ARGS))
    working = run.start()
    await asked.answer(await asked.card(working), "escalate")
    await asyncio.wait_for(working, SOON)
    assert run.ran == []


async def test_nobody_answers_a_forgery_and_a_rule(evaluation, asked):
    run = evaluation(turn(ARGS), turn(ARGS), turn(ARGS), timeout=1.0)
    working = run.start()
    await asked.by_rule(await asked.card(working))
    await asked.forge(await asked.card(working))
    await asked.card(working)
    await asyncio.wait_for(working, SOON)
    assert run.ran == [ARGS]
    assert run.approvals[0].explanation == "approved by the rule Lookups may go"
    assert run.read[1].startswith("pay was not run: could not get approval (unknown_key)")
    assert run.read[2] == "pay was not run, expired: nobody answered in time"


async def test_two_calls_of_one_turn_are_a_group(evaluation, asked):
    run = evaluation(turn(ARGS, {"to": "bob", "n": 2}))
    working = run.start()
    first = await asked.card(working)
    await asked.answer(first, "deny")
    second = await asked.card(working)
    await asked.answer(second)
    await asyncio.wait_for(working, SOON)
    assert first["group"] == {"id": "call_0", "index": 0, "size": 2}
    assert second["group"] == {"id": "call_0", "index": 1, "size": 2}
    assert run.ran == [{"to": "bob", "n": 2}]


async def test_a_tool_that_raises_is_a_failed_call_and_a_secret_is_nowhere(evaluation, asked, console, caplog):
    run = evaluation(turn({"to": "nobody", "n": 1}))
    with caplog.at_level(logging.DEBUG, "countersign"):
        working = run.start()
        card = await asked.card(working)
        await asked.answer(card)
        await asyncio.wait_for(working, SOON)
        assert (await asked.receipt(card, "failed"))["executed_args_digest"] == canonical_digest(card["args"])
    sent = [m.data for m in console.received["receipt"] if m.subject.endswith(card["request_id"])]
    assert SECRET not in json.dumps(card) + caplog.text + str(sent)


async def test_an_approved_call_that_does_not_start_is_refused(evaluation, asked, monkeypatch):
    from inspect_ai.model import _call_tools

    def stops(*_):
        raise _call_tools.ToolApprovalError("stopped")

    monkeypatch.setattr(_call_tools, "validate_tool_input", stops)
    run = evaluation(turn(ARGS))
    working = run.start()
    card = await asked.card(working)
    await asked.answer(card)
    await asyncio.wait_for(working, SOON)
    assert run.ran == []
    assert (await asked.receipt(card, "refused"))["message"] == "not_started"


async def test_without_an_enrolment_nothing_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("COUNTERSIGN_AGENT_JSON", raising=False)
    run = Evaluation(tmp_path, tmp_path / "none.json", turn(ARGS))
    await asyncio.wait_for(run.start(), SOON)
    assert run.ran == []
    assert run.read[0].startswith("pay was not run: could not get approval (enrolment): ")


async def test_a_bus_that_is_gone_runs_nothing(evaluation, asked, agent_json, bench):
    gone = Enrolment.load(agent_json)
    body = json.loads(agent_json.read_text())
    agent_json.write_text(json.dumps({**body, "nats_url": gone.nats_url.replace(str(bench.server.port), "1")}))
    run = evaluation(turn(ARGS))
    await asyncio.wait_for(run.start(), SOON)
    assert run.ran == []
    assert run.read[0].startswith("pay was not run: could not get approval (bus_unreachable): ")


async def test_one_connection_for_each_enrolment(evaluation, agent_json, monkeypatch):
    monkeypatch.setenv("COUNTERSIGN_AGENT_JSON", str(agent_json))
    first = await asyncio.to_thread(adapter._gate, str(agent_json))
    assert await asyncio.to_thread(adapter._gate, None) is first


POLICY = """
approvers:
  - name: countersign/console
    tools: "*"
    risk: medium
    timeout: 60
    risks: {"pay": "low"}
"""


async def test_a_policy_file_sets_the_approvers_parameters(evaluation, agent_json, asked, tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTERSIGN_AGENT_JSON", str(agent_json))
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    run = evaluation(turn(ARGS))
    working = run.start(str(file))
    card = await asked.card(working)
    assert card["risk"] == "low"
    await asked.answer(card)
    await asyncio.wait_for(working, SOON)
    assert run.ran == [ARGS]
    await asked.receipt(card, "executed")
