/** What a gate tells beside its questions: receipts, its presence, spans; and how it closes. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { argsDigest, Gate, type ToolCall } from "../src/index.js";
import { benchOfFile } from "./kit/bench.js";

const ARGS = { invoice_id: "INV-42" };
const bench = benchOfFile();
let gate: Gate;

beforeAll(async () => {
  gate = await bench().gate();
});

function call(requestId: string, about: Partial<ToolCall> = {}): ToolCall {
  return { name: "delete_invoice", requestId, args: { ...ARGS }, risk: "high", ...about };
}

test("receipts say what is wrong with them before they are sent", async () => {
  const id = randomUUID();
  const asking = gate.ask(call(id));
  await bench().console.decide(id);
  const decision = await asking;
  await expect(gate.receipt(decision, "excuted" as "executed")).rejects.toThrow("stage");
  await gate.receipt(decision, "executed", {
    message: "x".repeat(3000),
    degraded: ["slow"],
    executedArgsDigest: decision.argsDigest,
  });
  const receipt = await bench().console.receipt(id, "executed");
  expect(receipt).toMatchObject({ degraded: ["slow"], executed_args_digest: argsDigest(ARGS) });
  expect(receipt.message).toHaveLength(2000);
});

test("degraded comes from the caller, and its fault holds nothing back", async () => {
  for (const [degraded, said] of [
    [() => ["message"], ["message"]],
    [async () => ["edit_notice"], ["edit_notice"]],
    [() => [1] as unknown as string[], undefined],
    [() => Promise.reject(new Error("x")), undefined],
  ] as const) {
    const id = randomUUID();
    const asking = gate.ask(call(id), { degraded });
    await bench().console.decide(id);
    expect((await asking).allowed).toBe(true);
    expect((await bench().console.receipt(id, "received")).degraded).toEqual(said);
  }
});

test("hello, heartbeat and what changes", async () => {
  const { console } = bench();
  const open = await bench().gate({
    framework: "x",
    frameworkVersion: "1",
    tools: [{ name: "pay invoice", argsSchema: {} }],
  });
  const mine = await console.heard("hello", ({ body }) => body.agent.framework === "x");
  expect(mine.body).toMatchObject({ tools: [{ name: "pay-invoice-674e58b8", args_schema: {} }] });
  await console.heard("alive", ({ body }) => body.instance_id === mine.body.instance_id);
  await open.introduce({ credentials: [{ toolName: "pay", status: "missing", missingKeys: ["K"] }] });
  const same = ({ body }: { body: any }): boolean => body.instance_id === mine.body.instance_id;
  const again = await console.heard("hello", (message) => same(message) && message.body.credentials !== undefined);
  expect(again.body).toMatchObject({
    tools: [{ name: "pay-invoice-674e58b8" }],
    credentials: [{ tool_name: "pay", status: "missing", missing_keys: ["K"] }],
  });
  await expect(open.introduce({ tolls: [] } as object)).rejects.toThrow("tolls");
});

test("spans", async () => {
  const spanId = randomUUID().replaceAll("-", "").slice(0, 16);
  gate.span({
    traceId: "0".repeat(32),
    spanId,
    name: "t",
    kind: "tool",
    startedAt: "2026-11-21T12:00:00.000Z",
    toolName: "t",
  });
  const { body } = await bench().console.heard("event", (message) => message.body.span_id === spanId);
  expect(body).toMatchObject({ v: 1, type: "span", trace_id: "0".repeat(32), tool_name: "t" });
});

test("closing ends the waits and withdraws them", async () => {
  const { console } = bench();
  const id = randomUUID();
  const own = await Gate.connect(bench().file());
  const asking = own.ask(call(id));
  await console.request(id);
  const ended = expect(asking).rejects.toMatchObject({ code: "gate_closed" });
  await own.close();
  await ended;
  await console.heard("withdraw", ({ subject }) => subject.endsWith(id));
  await expect(own.ask(call(id))).rejects.toMatchObject({ code: "gate_closed" });
});

test("no log, no gate", async () => {
  await expect(Gate.connect(bench().enrolment({ log: undefined }))).rejects.toThrow("names no log");
  const trial = await bench().gate({ insecure: true }, { log: undefined });
  const id = randomUUID();
  const asking = trial.ask(call(id));
  const seen = await bench().console.request(id);
  await bench().console.store(
    seen.subject.replace(".request.", ".decision."),
    JSON.stringify(bench().console.decision(seen)),
    {},
  );
  expect((await asking).allowed).toBe(true);
});
