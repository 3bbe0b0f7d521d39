/** The whole way with real consoles: enrol, ask, decide on the command line, run, see the receipt, end the operator. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { argsDigest, Gate, type ToolCall } from "../src/index.js";
import { RealConsole } from "./kit/real-console.js";
import { SOON, until } from "./kit/until.js";

const folder = mkdtempSync(`${tmpdir()}/countersign-real-`);
const ada = new RealConsole(`${folder}/ada`, "Ada");
let grace: RealConsole;
let agentJson: string;

beforeAll(async () => {
  const { ready } = await ada.start();
  const bus = { COUNTERSIGN_NATS_URL: ready.nats_url, COUNTERSIGN_NATS_NKEY: `${folder}/ada/keys/login.nk` };
  grace = await new RealConsole(`${folder}/grace`, "Grace", bus).start();
  await until(async () => (await inForce()).includes(grace.ready.operator_key));
  const [enrolled] = await ada.cli("enroll", "acme/billing-bot", "--out", `${folder}/bot`);
  agentJson = enrolled.agent_json;
});
afterAll(async () => {
  await grace?.stop();
  await ada.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function inForce(): Promise<string[]> {
  return (await ada.cli("operators", "list")).filter(({ state }) => state === "in_force").map(({ key }) => key);
}

const call = (requestId: string): ToolCall => ({
  name: "send_mail",
  args: { to: "a@example.org", subject: "é" },
  risk: "medium",
  effects: "write",
  requestId,
});

test("approved by either person, it runs and is seen executed; denied, the words come", async () => {
  const gate = await Gate.connect(agentJson, { connectTimeout: SOON });
  for (const person of [ada, grace]) {
    const id = randomUUID();
    const asking = gate.ask(call(id), { timeout: SOON });
    const pending = await person.shown(id, "state", "pending");
    expect(pending).toMatchObject({ tool: "send_mail", risk: "medium", args_digest: argsDigest(call(id).args) });
    await person.cli("approve", id, "--digest", argsDigest(call(id).args));
    const decision = await asking;
    expect(decision).toMatchObject({ allowed: true, args: call(id).args, origin: "operator" });
    expect(decision.decidedBy?.key).toBe(person.ready.operator_key);
    await gate.receipt(decision, "executed", { executedArgsDigest: argsDigest(decision.args) });
    await person.shown(id, "delivery", "executed");
  }
  const id = randomUUID();
  const asking = gate.ask(call(id), { timeout: SOON });
  await grace.shown(id, "state", "pending");
  await grace.cli("deny", id, "--message", "ask Ada first");
  expect(await asking).toMatchObject({ allowed: false, verdict: "deny", message: "ask Ada first" });
  await gate.close();
});

test("what an operator approved does not run once that operator has ended", async () => {
  const id = randomUUID();
  const options = { key: "k", timeout: SOON };
  const first = await Gate.connect(agentJson, { journal: `${folder}/pending`, connectTimeout: SOON });
  const left = expect(first.ask(call(id), options)).rejects.toMatchObject({ code: "gate_closed" });
  await grace.shown(id, "state", "pending");
  await first.close();
  await left;
  await grace.cli("approve", id);
  await ada.shown(id, "verdict", "approve");
  await ada.cli("operators", "retire", grace.ready.operator_key);
  const gate = await Gate.connect(agentJson, { journal: `${folder}/pending`, connectTimeout: SOON });
  await expect(gate.ask(call(id), options)).rejects.toMatchObject({ code: "unknown_key" });
  expect(await inForce()).not.toContain(grace.ready.operator_key);
  await ada.shown(id, "delivery", "refused");
  const next = randomUUID();
  const asking = gate.ask(call(next), { timeout: SOON });
  await ada.shown(next, "state", "pending");
  await ada.cli("approve", next);
  expect((await asking).allowed).toBe(true);
  await gate.close();
});
