"""The example of docs/guides/kate.md as a program of its own, a model and a marketplace on the loopback address."""

from __future__ import annotations

import asyncio

import pytest

from guide_code import STARTED, output
from kate_world import AGENT, kate_world
from office import arrived


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_the_example_of_the_guide_runs_as_written(console, agent_json, tmp_path, verdict):
    before = len(console.received["request"])
    with kate_world() as world:
        world.turns = [[("weather", {"city": "Berlin"})], [("book_train", {"city": "Berlin"})]]
        environment = {
            "OPENAI_BASE_URL": f"{world.url}/v1",
            "OPENAI_API_KEY": "none",
            "KATE_API_URL": world.url,
            "KATE_API_KEY": "key",
            "KATE_AGENT_ID": AGENT,
        }
        example = output("kate", agent_json, tmp_path, alone=verdict == "approve", **environment)
        working = asyncio.ensure_future(example)
        [weather] = await arrived(console, before, 1, working, STARTED)
        assert (weather["tool"]["name"], weather["risk"]) == ("weather", "low")
        await console.decide(weather["request_id"])
        book = (await arrived(console, before, 2, working, STARTED))[1]
        assert (book["tool"]["name"], book["risk"]) == ("book_train", "high")
        await console.decide(book["request_id"], verdict, message="too far" if verdict == "deny" else ...)
        out = await working
    assert out == ("booking a train to Berlin\ndone\n" if verdict == "approve" else "done\n")
    assert world.read()[0][1] == "sunny"
    assert ("too far" in world.read()[1][1]) is (verdict == "deny")
