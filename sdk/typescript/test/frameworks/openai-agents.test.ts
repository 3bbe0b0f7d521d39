/** The OpenAI Agents SDK for JavaScript, with its scripted model. */
import { Agent, applyPatchTool, Runner, RunState, setTracingDisabled, shellTool, tool } from "@openai/agents";
import { ScriptedModel, assistantMessage, functionCall } from "@openai/agents-core/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { gated, run, settle } from "../../src/adapters/openai-agents.js";
import { Asked } from "../kit/asked.js";
import { benchOfFile } from "../kit/bench.js";
import { promises, SECRET, type Office } from "../kit/promises.js";

setTracingDisabled(true);
const bench = benchOfFile();

function payTool(ran: unknown[], needsApproval = false, failing = false): any {
  return tool({
    name: "pay",
    description: "Pays somebody",
    parameters: z.object({ n: z.number() }),
    needsApproval,
    execute: async (args) => {
      ran.push(args);
      if (failing) throw new Error(SECRET);
      return `paid ${args.n}`;
    },
  });
}

function modelOf(calls: object[]): any {
  const turn = calls.map((args, at) => functionCall("pay", args as never, { callId: `call_${at}` }));
  return new ScriptedModel([turn, [assistantMessage("done")]] as never);
}

function read(model: any): string[] {
  const { input } = model.calls.at(-1).request;
  return (input as any[])
    .filter(({ type }) => type === "function_call_result")
    .map(({ output }) => output.text ?? JSON.stringify(output));
}

const inline = (failing: boolean): Office => ({
  run: async (gate, calls, options) => {
    const [ran, model]: [unknown[], any] = [[], modelOf(calls)];
    // What asks by itself asks through the gate instead.
    const asks = (options.ask === undefined || options.ask.includes("p[a-c]y")) && options.unasked?.[0] !== "pa?";
    const agent = new Agent({ name: "clerk", model, tools: gated(gate, [payTool(ran, asks, failing)], options) });
    await new Runner().run(agent, "pay Ada");
    return { ran, read: read(model) };
  },
});

promises(
  "openai-agents: gated",
  { framework: "openai-agents", edits: true, notice: true, responds: true, reports: true, groups: true },
  inline,
);

const interrupted = (failing: boolean): Office => ({
  run: async (gate, calls, { ask, unasked, ...options }) => {
    const [ran, model]: [unknown[], any] = [[], modelOf(calls)];
    const asks = (ask === undefined || ask.includes("p[a-c]y")) && unasked?.[0] !== "pa?";
    const agent = new Agent({ name: "clerk", model, tools: [payTool(ran, asks, failing)] });
    await run(agent, "pay Ada", { gate, threadId: "t", ...options });
    return { ran, read: read(model) };
  },
});

promises(
  "openai-agents: run",
  {
    framework: "openai-agents",
    edits: false,
    notice: false,
    responds: false,
    reports: true,
    groups: true,
    effects: false,
  },
  interrupted,
);

test("settle writes an approval for this call alone, and says that nobody reports", async () => {
  const gate = await bench().gate();
  const ran: unknown[] = [];
  const turn = [functionCall("pay", { n: 1 } as never, { callId: "a" })];
  const model: any = new ScriptedModel([turn, [functionCall("pay", { n: 2 } as never, { callId: "b" })]] as never);
  const agent = new Agent({ name: "clerk", model, tools: [payTool(ran, true)] });
  const { state, interruptions } = await new Runner().run(agent, "pay");
  expect(interruptions).toHaveLength(1);
  const asked = new Asked(bench().console);
  const settling = settle(gate, state as never, { threadId: "t" });
  const card = await asked.card(settling);
  expect(card.expires_at).toBeNull();
  await bench().console.decide(card.request_id);
  await settling;
  expect((await bench().console.receipt(card.request_id, "received")).degraded).toEqual(["no_execution_report"]);
  const again = await new Runner().run(agent, state as never);
  expect(ran).toEqual([{ n: 1 }]);
  expect(again.interruptions).toHaveLength(1);
});

test("resumable from the state's text", async () => {
  const folder = bench().folderFor("pending");
  const ran: unknown[] = [];
  const model = modelOf([{ n: 1 }]);
  const agent = new Agent({ name: "clerk", model, tools: [payTool(ran, true)] });
  const text = (await new Runner().run(agent, "pay")).state.toString();
  const gate = await bench().gate({ journal: folder });
  const asked = new Asked(bench().console);
  const first = await RunState.fromString(agent as never, text);
  const settling = settle(gate, first as never, { threadId: "t" });
  const card = await asked.card(settling);
  await gate.close();
  await settling;
  await bench().console.decide(card.request_id);
  const later = await bench().gate({ journal: folder });
  const state = await RunState.fromString(agent as never, text);
  await run(agent, state as never, { gate: later, threadId: "t" });
  expect(ran).toEqual([{ n: 1 }]);
  await asked.noneCame();
});

test("arguments that are no JSON: no card, and the model reads why", async () => {
  const gate = await bench().gate();
  for (const office of ["gated", "run"]) {
    const ran: unknown[] = [];
    const call = { ...functionCall("pay", {} as never, { callId: "a" }), arguments: "{n:1" };
    const model: any = new ScriptedModel([[call], [assistantMessage("done")]] as never);
    const own = tool({
      name: "pay",
      description: "Pays",
      parameters: { type: "object", properties: {}, required: [], additionalProperties: true } as never,
      strict: false,
      needsApproval: async () => true,
      execute: async (args: unknown) => void ran.push(args),
    });
    const asked = new Asked(bench().console);
    const agent = new Agent({ name: "clerk", model, tools: office === "gated" ? gated(gate, [own]) : [own] });
    await run(agent, "pay", { gate, threadId: "t" }).catch(() => undefined);
    expect(ran).toEqual([]);
    await asked.noneCame();
    // The framework reads them first, and has words of its own for them.
    expect(read(model).join()).toMatch(/valid JSON|not approved/);
  }
});

test("other kinds of tools come back as they are", async () => {
  const gate = await bench().gate();
  const shell = shellTool({ shell: { run: async () => ({ output: [] }) } as never, needsApproval: true });
  const patch = applyPatchTool({ editor: {} as never });
  const tools = gated(gate, [shell, patch, payTool([])], { unasked: ["pay"] });
  expect(tools[0]).toBe(shell);
  expect(tools[1]).toBe(patch);
  expect(tools[2]?.name).toBe("pay");
});
