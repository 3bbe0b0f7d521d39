/** The gate against a real server: who may say yes, and when. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { argsDigest, Gate, type Decision, type ToolCall } from "../src/index.js";
import { benchOfFile } from "./kit/bench.js";
import { pause } from "./kit/until.js";

const ARGS = { invoice_id: "INV-42" };
const bench = benchOfFile();
let gate: Gate;

beforeAll(async () => {
  gate = await bench().gate();
});

function call(requestId: string, about: Partial<ToolCall> = {}): ToolCall {
  return { name: "delete_invoice", requestId, args: { ...ARGS }, risk: "high", ...about };
}

test("an approved call may run with the arguments that were shown", async () => {
  const { console } = bench();
  const id = randomUUID();
  const asking = gate.ask(call(id));
  const seen = await console.decide(id, "approve", { message: "fine" });
  const decision = await asking;
  expect(decision).toMatchObject({
    allowed: true,
    verdict: "approve",
    args: ARGS,
    argsDigest: argsDigest(ARGS),
    decidedBy: { name: "Ada", key: console.human.public },
    message: "fine",
    origin: "operator",
    requestId: id,
  });
  expect(decision.storedAt).toBeInstanceOf(Date);
  expect((await console.receipt(id, "received")).decision_id).toBe(decision.decisionId);
  expect(seen.body.args_digest).toBe("sha256:30e64fe16d9c35d7dea1689837b3dd7e4c4a95c90b71eefec776582e94f00d95");
});

test("what a request looks like on the bus", async () => {
  const { console } = bench();
  const id = randomUUID();
  const asking = gate.ask(call(id, { reason: "because" }), { timeout: 75 });
  const { subject, headers, body } = await console.decide(id, "deny");
  await asking;
  expect(subject).toBe(`countersign.v1.request.acme.billing-bot.${id}`);
  expect(headers.get("Nats-Expected-Last-Subject-Sequence")).toEqual(["0"]);
  expect(headers.has("Nats-Msg-Id")).toBe(false);
  expect(body).toMatchObject({
    v: 1,
    kind: "tool_call",
    tool: { name: "delete_invoice" },
    agent: { name: "billing-bot" },
    allowed_verdicts: ["approve", "modify", "deny"],
    verifies: ["webauthn"],
    reason: "because",
  });
  expect(Date.parse(body.expires_at) - Date.parse(body.requested_at)).toBe(75_000);
});

test("an approval meant for always lets one call run, and the next is asked", async () => {
  const { console } = bench();
  const id = randomUUID();
  for (const scope of ["always", "session"]) {
    const asking = gate.ask(call(`${id}-${scope}`));
    await console.decide(`${id}-${scope}`, "approve", { scope });
    expect((await asking).allowed).toBe(true);
  }
  const asking = gate.ask(call(`${id}-last`));
  await console.decide(`${id}-last`, "deny");
  expect((await asking).allowed).toBe(false);
});

describe("what is not sent", () => {
  const bad: [string, unknown, string][] = [
    ["an integer that no double holds", 2 ** 53, "integer_out_of_range"],
    ["no number", Number.NaN, "non_finite_number"],
    ["half a character", "\ud800", "lone_surrogate"],
    ["a function", () => 1, "wrong_type"],
    ["a date", new Date(), "wrong_type"],
    ["a big integer", 2n, "wrong_type"],
    ["a hole", [undefined], "wrong_type"],
    ["too much", "x".repeat(600_000), "too_large"],
    ["a library's mark", { "$serde_json::private::RawValue": "1" }, "not_json"],
  ];
  test.each(bad)("%s", async (_, x, code) => {
    const before = bench().console.of("request").length;
    await expect(gate.ask(call(randomUUID(), { args: { x } }))).rejects.toMatchObject({
      name: "InvalidRequestError",
      code,
    });
    expect(bench().console.of("request").length).toBe(before);
  });

  test.each([0, -1, 0.0004, Number.NaN, Number.POSITIVE_INFINITY, -1e300, "5"])("a time-out of %s", async (timeout) => {
    const asking = gate.ask(call(randomUUID()), { timeout: timeout as number });
    await expect(asking).rejects.toMatchObject({ code: "bad_lifetime" });
  });

  test.each([
    [{ risk: ["high"] }, "wrong_type"],
    [{ effects: 1 }, "wrong_type"],
    [{ allowedVerdicts: "approve" }, "wrong_type"],
    [{ allowedVerdicts: [null] }, "wrong_type"],
    [{ approvalsRequired: 6 }, "wrong_type"],
    [{ requestId: "a.b" }, "bad_subject"],
  ])("%o", async (about, code) => {
    await expect(gate.ask(call(randomUUID(), about as object))).rejects.toMatchObject({ code });
  });

  test("a slip in a name", async () => {
    await expect(gate.ask(call(randomUUID(), { alowedVerdicts: [] } as object))).rejects.toThrow("alowedVerdicts");
  });
});

test("a framework's own words are sent as they are", async () => {
  const { console } = bench();
  const id = randomUUID();
  const own = { risk: "sensitive", effects: "delete", allowedVerdicts: ["approve", "later"] } as object;
  const asking = gate.ask(call(id, own));
  const { body } = await console.decide(id);
  expect(body).toMatchObject({
    risk: "sensitive",
    tool: { effects: "delete" },
    allowed_verdicts: ["approve", "later"],
  });
  expect((await asking).allowed).toBe(true);
});

test.each(["deny", "skip", "escalate", "terminate", "hooray", ""])("%j runs nothing", async (verdict) => {
  const id = randomUUID();
  const offered = ["approve", "skip", "escalate", "terminate"] as const;
  const asking = gate.ask(call(id, { allowedVerdicts: offered }));
  await bench().console.decide(id, verdict, { message: "no" });
  const known = ["skip", "escalate", "terminate"].includes(verdict);
  expect(await asking).toMatchObject({ allowed: false, args: null, verdict: known ? verdict : "deny", message: "no" });
});

test("edited arguments take the place of the asked ones", async () => {
  const id = randomUUID();
  const edited = { invoice_id: "INV-43", note: "é" };
  const asking = gate.ask(call(id));
  await bench().console.edit(id, edited);
  expect(await asking).toMatchObject({ allowed: true, args: edited, argsDigest: argsDigest(edited) });
});

test("a question gets its answer", async () => {
  const id = randomUUID();
  const asking = gate.ask({ kind: "question", text: "Which?", allowFreeform: true, requestId: id });
  const { body } = await bench().console.decide(id, "respond", {
    response: { content: "the blue one", selected_key: "b" },
  });
  expect(body).toMatchObject({ kind: "question", risk: "low", question: { text: "Which?", allow_freeform: true } });
  expect(await asking).toMatchObject({ allowed: false, response: { content: "the blue one", selectedKey: "b" } });
});

test("names are those of the wire, and the caller's own stay", async () => {
  const id = randomUUID();
  const asking = gate.ask({
    name: "t",
    requestId: id,
    args: { camelCase: { innerName: 1 } },
    argsSchema: { additionalProperties: false },
    effective: { injectedNames: ["apiKey"], defaults: { dryRun: true } },
    skill: { name: "s", allowedTools: ["a"] },
    chain: { chainId: "c", seq: 1, maxCalls: 3 },
    confirm: { setupKey: "k" },
    metadata: { someThing: 1 },
    history: [{ role: "user", content: { partType: "text" } }],
  });
  const { body } = await bench().console.decide(id, "deny");
  await asking;
  expect(body).toMatchObject({
    args: { camelCase: { innerName: 1 } },
    tool: { args_schema: { additionalProperties: false } },
    effective: { injected_names: ["apiKey"], defaults: { dryRun: true } },
    skill: { allowed_tools: ["a"] },
    chain: { chain_id: "c", max_calls: 3 },
    confirm: { setup_key: "k" },
    metadata: { someThing: 1 },
    history: [{ role: "user", content: { partType: "text" } }],
  });
});

test("silence expires and never approves", async () => {
  const begun = Date.now();
  const decision = await gate.ask(call(randomUUID()), { timeout: 3 });
  expect(Date.now() - begun).toBeGreaterThanOrEqual(2900);
  expect(decision).toMatchObject({ verdict: "expired", origin: "timeout", allowed: false, decisionId: null });
});

test("a hint that nobody stored is ignored", async () => {
  const { console } = bench();
  const id = randomUUID();
  let done = false;
  const asking = gate.ask(call(id)).finally(() => (done = true));
  const seen = await console.request(id);
  console.nc.publish(
    seen.subject.replace(".request.", ".decided."),
    console.signed(seen.subject, console.decision(seen))[0],
  );
  await pause(100);
  expect(done).toBe(false);
  await console.decide(id, "deny");
  expect((await asking).verdict).toBe("deny");
});

test("an abort withdraws", async () => {
  const { console } = bench();
  const id = randomUUID();
  const stop = new AbortController();
  const asking = gate.ask(call(id), { signal: stop.signal });
  await console.request(id);
  stop.abort();
  await expect(asking).rejects.toThrow("abort");
  await console.heard("withdraw", ({ subject }) => subject.endsWith(id));
});

test("withdraw ends the ask", async () => {
  const { console } = bench();
  const id = randomUUID();
  const asking = gate.ask(call(id));
  await console.request(id);
  await gate.withdraw(id, "changed my mind");
  expect(await asking).toMatchObject({ verdict: "withdrawn", allowed: false });
  expect((await console.heard("withdraw", ({ subject }) => subject.endsWith(id))).body).toEqual({
    v: 1,
    reason: "changed my mind",
  });
  await expect(gate.withdraw(id)).rejects.toMatchObject({ code: "not_found" });
});

test("asking again with the same id is refused at once and takes nothing back", async () => {
  const { console } = bench();
  const id = randomUUID();
  const other = await bench().gate();
  const asking = gate.ask(call(id));
  await console.request(id);
  await expect(gate.ask(call(id))).rejects.toMatchObject({ code: "already_waiting" });
  await expect(other.ask(call(id))).rejects.toMatchObject({ code: "already_asked" });
  await console.decide(id);
  expect((await asking).allowed).toBe(true);
  expect(console.of("withdraw").filter(({ subject }) => subject.endsWith(id))).toEqual([]);
});

test("many asks at once get their own answers", async () => {
  const ids = Array.from({ length: 60 }, () => randomUUID());
  const asking = ids.map((id) => gate.ask(call(id, { args: { id } })));
  await Promise.all(ids.toReversed().map((id) => bench().console.decide(id, ids.indexOf(id) % 2 ? "approve" : "deny")));
  const answers: Decision[] = await Promise.all(asking);
  expect(answers.map((answer) => answer.args)).toEqual(ids.map((id, at) => (at % 2 ? { id } : null)));
});

test("a console's own expiry is received, a rejection is told apart", async () => {
  const { console } = bench();
  for (const [verdict, origin] of [
    ["expired", "timeout"],
    ["rejected", "system"],
  ] as const) {
    const id = randomUUID();
    const asking = gate.ask(call(id));
    await console.decide(id, verdict, { origin, decided_by: { name: "console", key: console.auto.public } });
    expect((await asking).verdict).toBe(verdict);
    await console.receipt(id, "received");
  }
});
