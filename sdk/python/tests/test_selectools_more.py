"""Rows S10b to S10d: compression, chunks, flags, cached results and injected values, with the real selectools."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from countersign.adapters.selectools import SelectoolsGate
from selectools import Agent, AgentConfig, InMemoryCache, Message, Role, Tool, ToolPolicy
from selectools.tools import ToolParameter
from selectools.usage import UsageStats

from office import Script, arrived
from test_selectools_trace import spans


class Summary(Script):
    """Compresses what it is shown, or fails to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def complete(self, **_):
        if not self.text:
            raise OSError("no summary")
        return Message(role=Role.ASSISTANT, content=self.text), UsageStats(1, 1, 2, 0.0, "s", "s")


def run(bench, tools, script, *, policy=None, cache=None, **settings) -> asyncio.Future:
    def work() -> None:
        with SelectoolsGate.open(bench.enrolment(), tools=tools, approval_timeout=20) as gate:
            tool = gate.tool_config(policy=policy or ToolPolicy(allow=["*"]), **settings)
            config = AgentConfig(tool=tool, observers=[gate], cache=cache)
            Agent(tools=tools, provider=script, config=config).run("go")

    return asyncio.ensure_future(asyncio.to_thread(work))


async def ended(console, working) -> list[dict]:
    before = len(console.received["event"])
    await working
    seen = console.received["event"]
    message = await console.until("event", lambda m: m in seen[before:] and b'"selectools run"' in m.data)
    return spans(console, json.loads(message.data)["run_id"])


@pytest.mark.parametrize("summary", ["short", ""])
async def test_s10b_what_the_model_reads_of_a_compressed_result_is_on_its_span(bench, console, summary):
    report = Tool("report", "Reports", [], lambda: "x" * 900)
    script = Script([("report", {})])
    working = run(
        bench,
        [report],
        script,
        compress_results=True,
        compress_threshold=300,
        compress_provider=Summary(summary),
        compress_model="script",
    )
    [tool] = [span for span in await ended(console, working) if span["kind"] == "tool"]
    assert tool["output"][0]["m_content"] == script.tool_texts()[0]
    mark = "[compressed from 900 chars] " if summary else "[truncated from 900 chars; compression failed] "
    assert tool["output"][0]["m_content"].startswith(mark)
    how = "compressed" if summary else "failed"
    assert tool["attributes"] == {"selectools.raw_chars": 900, "selectools.compression": how}


async def test_s10c_chunks_are_seen_while_the_tool_runs(bench, console):
    def stream():
        for part in ("one ", "two ", "three "):
            yield part
            time.sleep(0.6)

    tool = Tool("stream", "Streams", [], stream, streaming=True)
    await ended(console, run(bench, [tool], Script([("stream", {})])))
    sent = [json.loads(m.data) for m in console.received["event"] if b'"tool_name":"stream"' in m.data]
    texts = [s["output"][0]["m_content"] for s in sent if s["kind"] == "tool" and "output" in s]
    assert texts == ["one ", "one two three ", "one two three "]


async def test_s10c_flags_of_a_tool_are_on_the_card_and_its_span(bench, console):
    tool = Tool("finish", "Ends", [], lambda: "over", terminal=True, screen_output=True)
    before = len(console.received["request"])
    working = run(bench, [tool], Script([("finish", {})]), policy=ToolPolicy())
    [body] = await arrived(console, before, 1, working)
    assert body["metadata"]["selectools"] == {"terminal": True, "screen_output": True}
    await console.decide(body["request_id"])
    [span] = [span for span in await ended(console, working) if span["kind"] == "tool"]
    assert span["attributes"] == {"selectools.terminal": True, "selectools.screen_output": True}


@pytest.mark.parametrize("parallel", [False, True])
async def test_s10c_a_cached_result_is_told_on_the_policy_span(bench, console, parallel):
    tool = Tool("look", "Looks", [ToolParameter("n", int, "n")], lambda n: str(n), cacheable=True)
    turn = [("look", {"n": 1}), ("look", {"n": 2})] if parallel else [("look", {"n": 1})]
    before = len(console.received["request"])
    script = Script([("look", {"n": 1})], [("look", {"n": 2})], turn)
    working = run(bench, [tool], script, policy=ToolPolicy(), cache=InMemoryCache())
    for count in range(1, 3 + len(turn)):
        bodies = await arrived(console, before, count, working)
        await console.decide(bodies[count - 1]["request_id"])
    seen = {span.get("request_id"): span for span in await ended(console, working) if span["kind"] == "approval"}
    for body in bodies[2:]:
        assert (await console.receipt(body["request_id"], "refused"))["message"] == "not_started"
        span = seen[body["request_id"]]
        assert (span["status"], span["attributes"]["selectools.cache_hit"]) == ("ok", True)


async def test_s10d_injected_values_stand_nowhere(bench, console):
    parameters = [ToolParameter("n", int, "how many")]
    tool = Tool("send", "Sends", parameters, lambda n, token: f"sent {n}", injected_kwargs={"token": "tkn-5f1e"})
    before = len(console.received["request"])
    working = run(bench, [tool], Script([("send", {"n": "42"})]), policy=ToolPolicy())
    [body] = await arrived(console, before, 1, working)
    assert body["effective"] == {"coerced": {"n": 42}, "injected_names": ["token"]}
    await console.decide(body["request_id"])
    await ended(console, working)
    received = [message.data for kind in console.received.values() for message in kind]
    assert not [data for data in received if b"tkn-5f1e" in data]
