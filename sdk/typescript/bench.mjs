/**
 * How much time a gate takes to start, and an adapter adds to a call that a rule allows: `node bench.mjs AGENT_JSON [COUNT]`.
 *
 * What is measured is one call in the framework, less the time within `gate.ask`, less the same call without the gate.
 * `make bench` runs it beside a console that allows `lookup`.
 */
import { z } from "zod";
import { Gate } from "./dist/index.js";
import { claudeGate } from "./dist/adapters/claude-agent-sdk.js";
import { gateTools } from "./dist/adapters/ai.js";
import { gated } from "./dist/adapters/openai-agents.js";

const [agentJson, times = "300"] = process.argv.slice(2);
const COUNT = Number(times);
const ARGS = { who: "ada" };
const COMMON = { ask: ["lookup"], risks: { lookup: "low" } };
const GOAL_MS = 10;
const START_MS = 150;
const newer = Number(process.versions.node.split(".")[0]) >= 22;

async function ai(gate) {
  const { generateText, stepCountIs, tool } = await import(newer ? "ai" : "ai6");
  const { MockLanguageModelV3 } = await import(newer ? "ai/test" : "ai6/test");
  const usage = { inputTokens: {}, outputTokens: {} };
  const model = new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const done = prompt.some(({ role }) => role === "tool");
      const call = { type: "tool-call", toolCallId: "1", toolName: "lookup", input: JSON.stringify(ARGS) };
      const content = [done ? { type: "text", text: "done" } : call];
      return { content, finishReason: { unified: done ? "stop" : "tool-calls" }, usage, warnings: [] };
    },
  });
  const inputSchema = z.object({ who: z.string() });
  const lookup = tool({ description: "Looks up", inputSchema, execute: async ({ who }) => who });
  const tools = gate === null ? { lookup } : gateTools(gate, { lookup }, COMMON);
  return () => generateText({ model, tools, prompt: "go", stopWhen: stepCountIs(3) });
}

async function openaiAgents(gate) {
  const { Agent, Runner, setTracingDisabled, tool } = await import("@openai/agents");
  const { ScriptedModel, assistantMessage, functionCall } = await import("@openai/agents-core/testing");
  setTracingDisabled(true);
  const parameters = z.object({ who: z.string() });
  const lookup = tool({ name: "lookup", description: "Looks up", parameters, execute: async ({ who }) => who });
  const tools = gate === null ? [lookup] : gated(gate, [lookup], COMMON);
  return () => {
    const model = new ScriptedModel([[functionCall("lookup", ARGS, { callId: "1" })], [assistantMessage("done")]]);
    return new Runner().run(new Agent({ name: "clerk", model, tools }), "go");
  };
}

/** The hook before a call and the one after it: the model's side is Claude Code's own process. */
async function claudeAgentSdk(gate) {
  if (gate === null) return async () => undefined;
  const { hooks } = claudeGate(gate, COMMON);
  const options = { signal: new AbortController().signal };
  let number = 0;
  return async () => {
    const event = { hook_event_name: "PreToolUse", tool_name: "lookup", tool_input: ARGS, session_id: "s" };
    event.tool_use_id = `toolu_${(number += 1)}`;
    await hooks.PreToolUse[0].hooks[0](event, event.tool_use_id, options);
    const after = { ...event, hook_event_name: "PostToolUse", tool_response: "ada" };
    await hooks.PostToolUse[0].hooks[0](after, event.tool_use_id, options);
  };
}

/** `Gate.ask` from now on, with the time that each ask took. */
let asked = 0;
const ask = Gate.prototype.ask;
Gate.prototype.ask = async function timed(...about) {
  const begun = performance.now();
  const decision = await ask.apply(this, about);
  asked += performance.now() - begun;
  if (!decision.allowed) throw new Error(`the rule did not allow it: ${decision.verdict}`);
  return decision;
};

/** Milliseconds within `ask`, and the rest of the call's. */
async function during(call) {
  asked = 0;
  const begun = performance.now();
  await call();
  return [asked, performance.now() - begun - asked];
}

function percentile(found, percent) {
  const sorted = found.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))];
}

function print(name, found, goal) {
  const [p50, p99] = [percentile(found, 50), percentile(found, 99)];
  const verdict = goal === null ? "the floor" : p99 <= goal ? "met" : "missed";
  const columns = [p50, p99].map((time) => time.toFixed(2).padStart(8)).join("");
  process.stdout.write(`${name.padEnd(32)}${columns}   ${verdict}\n`);
}

process.stdout.write(
  `${"TypeScript, milliseconds".padEnd(32)}${"p50".padStart(8)}${"p99".padStart(8)}   goal p99 ${GOAL_MS}\n`,
);
const starts = [];
for (let count = 0; count < 20; count += 1) {
  const begun = performance.now();
  const open = await Gate.connect(agentJson, { connectTimeout: 60 });
  starts.push(performance.now() - begun);
  await open.close();
}
print(`starting a gate, goal ${START_MS}`, starts, START_MS);
const gate = await Gate.connect(agentJson, { connectTimeout: 60 });
const plain = [];
for (let count = 0; count < COUNT; count += 1) {
  plain.push((await during(() => gate.ask({ name: "lookup", args: ARGS, risk: "low" })))[0]);
}
print("plain gate.ask", plain, null);
for (const adapter of [ai, openaiAgents, claudeAgentSdk]) {
  const [bare, asking] = [await adapter(null), await adapter(gate)];
  const pairs = [];
  // In pairs: what else the machine does disturbs both alike. The first load what they need.
  for (let count = 0; count < COUNT + 20; count += 1) pairs.push([await during(bare), await during(asking)]);
  const counted = pairs.slice(20);
  const usual = percentile(
    counted.map(([[, without]]) => without),
    50,
  );
  print(
    `${adapter.name} adds`,
    counted.map(([, [, took]]) => took - usual),
    GOAL_MS,
  );
}
await gate.close();
