/** What others store in the realm log, and what an agent then believes (protocol, section 8). */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Gate } from "../src/index.js";
import { Bus } from "../src/bus.js";
import { Bench } from "./kit/bench.js";
import { Key } from "./kit/key.js";
import { SOON } from "./kit/until.js";

let bench: Bench;
let gate: Gate;

beforeEach(async () => {
  bench = new Bench();
  await bench.start();
  gate = await bench.gate();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await bench.stop();
});

/** What an agent makes of the verdict of this key: the word, or why it is void. */
async function outcome(key: Key, verdict = "approve", risk = "medium"): Promise<string> {
  const id = randomUUID();
  const call = { name: "pay", args: { n: 1 }, risk: risk as never, requestId: id };
  const asking = gate.ask(call, { timeout: SOON }).then(
    (decision) => decision.verdict,
    (error: { code: string }) => error.code,
  );
  const seen = await bench.console.request(id);
  const body = bench.console.decision(seen, verdict, { decided_by: { name: "x", key: key.public } });
  const subject = seen.subject.replace(".request.", ".decision.");
  await bench.console.store(subject, ...bench.console.signed(subject, body, key));
  return asking;
}

test("an entry that is stored between two looks counts", async () => {
  const { console } = bench;
  const grace = new Key();
  await console.letIn(grace);
  expect(await outcome(grace)).toBe("approve");
  const get = Bus.prototype.directGet;
  let ending: Promise<void> | null = null;
  let found = false;
  vi.spyOn(Bus.prototype, "directGet").mockImplementation(async function (this: Bus, subject, ...rest) {
    const stored = await get.call(this, subject, ...rest);
    found ||= stored !== null && subject.includes(".decision.");
    // The first look at the slots that follows has shown no end yet; the second one must.
    if (found && stored === null && subject.includes(".realm.")) await (ending ??= console.retire(grace));
    return stored;
  });
  expect(await outcome(grace)).toBe("unknown_key");
  expect(ending).not.toBe(null);
});

test("a key that has ended signs entries, and comes in again beside another key", async () => {
  const { console } = bench;
  const [grace, newcomer] = [new Key(), new Key()];
  await console.letIn(grace, { admin: true });
  await console.retire(grace);
  await console.fill(console.signedEntry({ operators: [console.record(grace, { admin: true })] }, grace));
  await console.entry({ operators: [console.record(grace)] });
  expect(await outcome(grace)).toBe("unknown_key");
  const proof = grace.sign("key", console.realm, "countersign.v1.realm", `${newcomer.public}\nhuman`);
  const beside = { key: grace.public, role: "human", proof };
  await console.entry({ operators: [console.record(newcomer, { keys: [beside] })] });
  expect(await outcome(newcomer)).toBe("unknown_key");
  expect(await outcome(console.human)).toBe("approve");
});

test("an entry that was signed before another one and is stored later does nothing", async () => {
  const { console } = bench;
  const [kay, grace] = [new Key(), new Key()];
  await console.letIn(kay);
  await console.letIn(grace);
  const late = console.signedEntry({ operators: [{ id: kay.public, keys: [] }] });
  await console.retire(grace);
  await console.fill(late);
  expect(await outcome(kay)).toBe("approve");
  expect(await outcome(grace)).toBe("unknown_key");
});

test("nobody takes his own limits away, or adds a key to another person", async () => {
  const { console } = bench;
  const [grace, second] = [new Key(), new Key()];
  await console.letIn(grace, { limits: { max_risk: "low" } });
  await console.entry({ operators: [console.record(grace)] }, grace);
  expect(await outcome(grace)).toBe("beyond_limit");
  expect(await outcome(grace, "approve", "low")).toBe("approve");
  expect(await outcome(grace, "deny")).toBe("deny");
  const proof = second.sign("key", console.realm, "countersign.v1.realm", `${grace.public}\nhuman`);
  const added = { limits: { max_risk: "low" }, keys: [{ key: second.public, role: "human", proof }] };
  await console.entry({ operators: [console.record(grace, added)] });
  expect(await outcome(second, "approve", "low")).toBe("unknown_key");
});

test("a stream made anew with a founding of somebody's own is not believed", async () => {
  const { console } = bench;
  const thief = new Key();
  await console.api("STREAM.DELETE.CS_DECISIONS");
  await console.createDecisions();
  [console.n, console.slot] = [0, 1];
  await console.entry({ operators: [console.record(thief, { admin: true })], realm: { acceptance: false } }, thief);
  const id = randomUUID();
  const asking = gate.ask({ name: "pay", args: {}, requestId: id }, { timeout: 8 }).then(
    (decision) => decision.verdict,
    (error: { code: string }) => error.code,
  );
  const seen = await console.request(id);
  const body = console.decision(seen, "approve", { decided_by: { name: "x", key: thief.public } });
  const subject = seen.subject.replace(".request.", ".decision.");
  await console.store(subject, ...console.signed(subject, body, thief));
  expect(["expired", "unknown_key", "log_short", "log_differs"]).toContain(await asking);
});

test("an agent that may not read the log opens no gate", async () => {
  bench.server.forbidden = ".realm.";
  await bench.server.stop();
  await bench.server.start();
  await expect(bench.gate()).rejects.toMatchObject({ code: "permission" });
});
