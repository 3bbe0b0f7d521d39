"""Rows R2 to R4, R7, R8 and R10 of ravi with the real console: what a person sees, and what outlives the console."""

from __future__ import annotations

import asyncio
import json
import types

import pytest
from countersign.adapters.ravi import RaviApprovalHandler, tools_of

from cards import Desk
from ravi_kit import Registry, Tool, ravi
from test_console import SECONDS


@pytest.fixture(scope="module")
def kit():
    with ravi("0.2.0") as found:
        yield found


@pytest.fixture(scope="module")
async def desk(tmp_path_factory):
    made = await Desk(tmp_path_factory.mktemp("console")).start()
    yield made
    await made.console.stop()


class Office:
    def __init__(self, kit, gate, timeout: float = 30.0) -> None:
        self.kit = kit
        self.tool = Tool(kit, "mail", "high")
        self.handler = RaviApprovalHandler(gate, approval_timeout=timeout)
        policy = kit.contract.ChainPolicy(approval_timeout_s=timeout)
        inner = kit.ToolInvoker(Registry(self.tool), self.handler, policy=policy)
        self.invoker = self.handler.invoker(inner)
        self.session = self.invoker.open_session()

    def start(self, **args) -> asyncio.Task:
        call = self.kit.contract.ToolCallRequest(name="mail", arguments=args)
        return asyncio.ensure_future(self.invoker.invoke(call, session=self.session))


async def test_r2_denied_and_skipped_stay_apart_in_the_history(desk, kit):
    async with desk.gate() as gate:
        office = Office(kit, gate)
        for answer, verdict in ((desk.deny, "deny"), (desk.skip, "skip")):
            working = office.start(n=verdict)
            card = await desk.card(working)
            await answer(card)
            assert (await working).status == "denied"
            assert (await desk.shown(card.id))["verdict"] == verdict
            received = await desk.receipt(card, "received")
            assert received["degraded"] == (["message"] if verdict == "deny" else ["skip_as_deny"])


async def test_r3_a_request_outlives_the_console_and_runs_once(desk, kit):
    async with desk.gate() as gate:
        office = Office(kit, gate)
        working = office.start(to="r3")
        before = await desk.card(working)
        desk.console.process.kill()
        await desk.console.process.wait()
        await desk.console.start()
        after = await desk.console.show(before.id, "state", "pending")
        assert (after["request_digest"], after["request"]) == (before["request_digest"], before["request"])
        assert office.tool.ran == []
        await desk.approve(before)
        assert (await asyncio.wait_for(working, SECONDS)).status == "ok"
        assert office.tool.ran == [{"to": "r3"}]
        await desk.receipt(before, "executed")


async def test_r4_a_late_click_is_refused(desk, kit):
    async with desk.gate() as gate:
        office = Office(kit, gate, timeout=3.0)
        working = office.start(to="r4")
        card = await desk.card(working)
        assert (await working).status == "denied"
        await desk.console.show(card.id, "state", "expired")
        code, _, _ = await desk.console.run("approve", card.id)
        assert (code, office.tool.ran) == (5, [])
        assert (await desk.receipt(card, "received"))["degraded"] == []


async def test_r4_an_expiry_that_ravi_did_not_speak_of_reads_as_a_denial(desk, kit):
    contract = kit.contract
    async with desk.gate() as gate:
        handler = RaviApprovalHandler(gate, approval_timeout=2.0)
        call = contract.ToolCallRequest(name="mail", arguments={"to": "late"})
        request = contract.ApprovalRequest(
            call=call, risk=contract.ToolRisk.HIGH, agent_id=kit.AgentId(type="a", key="b"), run_id="r"
        )
        working = asyncio.ensure_future(handler.request(request))
        card = await desk.card(working)
        assert (await working).decision == contract.ApprovalDecision.DENIED
        assert (await desk.receipt(card, "received"))["degraded"] == ["expiry_as_deny"]


@pytest.mark.parametrize(("allowed", "warned"), [(("mail", "look"), False), (("look",), True)])
async def test_r7_a_call_outside_the_skill_is_told(desk, kit, allowed, warned):
    async with desk.gate() as gate:
        office = Office(kit, gate)
        skill = kit.contract.Skill(name="mailing", instructions="SECRET", allowed_tools=allowed)
        with office.handler.chain("c1", skill=skill):
            working = office.start(to="r7", allowed=list(allowed))
            card = await desk.card(working)
        await desk.deny(card)
        await working
        codes = [warning["code"] for warning in card["warnings"]]
        assert ("outside_skill" in codes) is warned
        assert "SECRET" not in json.dumps(card)


async def test_r8_the_same_call_again_is_linked_and_asks_again(desk, kit):
    async with desk.gate() as gate:
        office = Office(kit, gate)
        for number in (1, 2):
            working = office.start(to="r8")
            card = await desk.card(working)
            if number == 1:
                first = card
            else:
                assert card["state"] == "pending"
                assert card["repeats"], card
                assert first.id in json.dumps(card["repeats"])
                assert "re_ask" in [warning["code"] for warning in card["warnings"]]
                assert card.request["call_id"] != first.request["call_id"]
            await (desk.approve if number == 1 else desk.deny)(card)
            await working
        assert len(office.tool.ran) == 1


async def test_r10_the_console_knows_which_tools_can_be_gated(desk, kit):
    hosted = types.SimpleNamespace(name="search", description="s", provider_specs={})
    patch = types.SimpleNamespace(
        name="apply_patch", description="p", provider_specs={}, handle_call=None, risk="critical"
    )
    listed: dict[str, bool] = {}
    async with desk.gate(tools=tools_of(Registry(hosted, patch, Tool(kit, "mail", "high")))):
        async with asyncio.timeout(SECONDS):
            while len(listed) < 3:
                out = await desk.console.done("agents", "--json")
                agents = [json.loads(line) for line in out.splitlines()]
                listed = {tool["name"]: tool["gated"] for agent in agents for tool in agent["tools"]}
    assert listed == {"search": False, "apply_patch": True, "mail": True}
