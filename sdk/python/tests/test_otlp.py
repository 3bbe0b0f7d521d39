"""Programs that know nothing of Countersign: OpenTelemetry's own SDK, and a framework's own instrumentation.

They send to the receiver of a real console, and their call tree appears on its command line.
"""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import StatusCode
from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings

from nats_server import REPOSITORY
from test_console import SECONDS, RealConsole


@pytest.fixture(scope="module")
async def listening(tmp_path_factory: pytest.TempPathFactory):
    console = RealConsole(tmp_path_factory.mktemp("otlp"))
    console.environment |= {"COUNTERSIGN_OTLP_HTTP": "127.0.0.1:0", "COUNTERSIGN_OTLP_GRPC": "127.0.0.1:0"}
    await console.start()
    yield console
    await console.stop()


def provider(console: RealConsole, transport: str, service: str) -> TracerProvider:
    address = console.ready["otlp"][transport]
    exporter: SpanExporter
    if transport == "http":
        exporter = HttpExporter(f"http://{address}/v1/traces", compression=Compression.Gzip, timeout=SECONDS)
    else:
        exporter = GrpcExporter(f"http://{address}", insecure=True, timeout=SECONDS)
    made = TracerProvider(resource=Resource.create({"service.name": service}))
    made.add_span_processor(BatchSpanProcessor(exporter))
    return made


async def sent(made: TracerProvider) -> None:
    """Once this returns the console has stored every span: the exporter waited for the answer."""
    assert await asyncio.to_thread(made.force_flush, int(SECONDS * 1000))
    await asyncio.to_thread(made.shutdown)


async def tree(console: RealConsole, trace_id: int, spans: int) -> dict:
    async with asyncio.timeout(SECONDS):
        while True:
            code, out, _ = await console.run("trace", f"{trace_id:032x}", "--json")
            found = json.loads(out) if code == 0 else {}
            if found.get("spans") == spans:
                return found


def below(span: dict) -> list[dict]:
    return [span, *(found for child in span["children"] for found in below(child))]


@pytest.mark.parametrize("transport", ["http", "grpc"])
async def test_the_sdk_sends_a_trace_and_its_tree_appears(listening, transport):
    made = provider(listening, transport, f"shop {transport}")
    tracer = made.get_tracer("tests")
    with tracer.start_as_current_span("checkout") as root:
        with tracer.start_as_current_span(
            "chat m-1",
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "m-1",
                "gen_ai.usage.input_tokens": 12,
                "gen_ai.usage.output_tokens": 3,
            },
        ):
            pass
        with contextlib.suppress(TimeoutError), tracer.start_as_current_span("execute_tool pay") as tool:
            tool.set_attributes({"gen_ai.tool.name": "pay", "gen_ai.tool.call.id": "call_1"})
            raise TimeoutError("the bank did not answer")
    await sent(made)

    found = await tree(listening, root.get_span_context().trace_id, 3)
    (checkout,) = found["roots"]
    assert (checkout["name"], checkout["kind"], checkout["status"]) == ("checkout", "chain", "ok")
    assert checkout["agent"].startswith(f"shop-{transport}-")
    chat, pay = checkout["children"]
    assert (chat["kind"], chat["usage"]["input_tokens"]) == ("llm", 12)
    assert (pay["kind"], pay["tool_name"], pay["call_id"]) == ("tool", "pay", "call_1")
    assert pay["status"] == "timeout"
    assert pay["error"]["type"] == "TimeoutError"
    assert "the bank did not answer" in pay["error"]["message"]
    assert checkout["usage_total"]["output_tokens"] == 3
    assert tool.status.status_code is StatusCode.ERROR


def answers(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """A model that asks for the weather once and then repeats the answer."""
    reported = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if reported:
        return ModelResponse(parts=[TextPart(f"It is {reported[0].content}.")])
    return ModelResponse(parts=[ToolCallPart("weather", {"city": "Oslo"}, tool_call_id="call_oslo")])


def weather(city: str) -> str:
    return f"raining in {city}"


async def run_of(console: RealConsole, trace_id: int) -> list[dict]:
    """The spans of a run that asked its model twice, parents first."""
    async with asyncio.timeout(SECONDS):
        while True:
            code, out, _ = await console.run("trace", f"{trace_id:032x}", "--json")
            found = below(json.loads(out)["roots"][0]) if code == 0 else []
            if sum(span["kind"] == "llm" for span in found) == 2:
                return found


@pytest.mark.filterwarnings("ignore:Instrumentation format versions")
@pytest.mark.parametrize("version", [2, 5])
async def test_a_frameworks_own_instrumentation_is_understood(listening, version):
    made = provider(listening, "http", "pydantic-ai")
    settings = InstrumentationSettings(tracer_provider=made, version=version)
    capabilities = [Instrumentation(settings=settings)]
    agent = Agent(
        FunctionModel(answers, model_name="m-2"), name="forecaster", capabilities=capabilities, tools=[weather]
    )

    with made.get_tracer("tests").start_as_current_span("request") as root:
        result = await agent.run("Do I need an umbrella?")
    assert result.output == "It is raining in Oslo."
    trace_id = root.get_span_context().trace_id
    await sent(made)

    found = await run_of(listening, trace_id)
    kinds = {kind: [span for span in found if span["kind"] == kind] for kind in ("agent", "llm", "tool")}
    (run,), (call,) = kinds["agent"], kinds["tool"]
    assert run["attributes"]["gen_ai.agent.name"] == "forecaster"
    assert len(kinds["llm"]) == 2
    assert (call["tool_name"], call["call_id"]) == ("weather", "call_oslo")
    assert call["input"] == {"city": "Oslo"}
    assert call["output"] == [{"m_type": "text", "m_content": "raining in Oslo"}]
    assert any("umbrella" in json.dumps(span["input"]) for span in kinds["llm"])
    assert any("It is raining in Oslo." in json.dumps(span["output"]) for span in kinds["llm"])
    total = sum(span["usage"]["input_tokens"] for span in kinds["llm"])
    assert total > 0
    assert found[0]["usage_total"]["input_tokens"] == total


async def test_the_example_of_the_guide_does_what_it_says(listening):
    guide = (REPOSITORY / "docs/otlp.md").read_text()
    example = guide.split("```python\n")[1].split("```")[0]
    assert "127.0.0.1:4318" in example
    names: dict = {}
    try:
        exec(example.replace("127.0.0.1:4318", listening.ready["otlp"]["http"]), names)
        with names["provider"].get_tracer("tests").start_as_current_span("request") as root:
            await Agent(FunctionModel(answers), tools=[weather]).run("Do I need an umbrella?")
        await sent(names["provider"])
    finally:
        Agent.instrument_all(False)
    found = await run_of(listening, root.get_span_context().trace_id)
    assert all(span["agent"] == "forecaster-bd9b1a3b" for span in found)
