/** What may fail around receipts and spans, and what is wrong with an agent.json. */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Gate, type ToolCall } from "../src/index.js";
import { Bus } from "../src/bus.js";
import { BusUnreachableError, NotSentError } from "../src/errors.js";
import { Outbox } from "../src/outbox.js";
import { SpanQueue } from "../src/span-queue.js";
import { Bench } from "./kit/bench.js";
import { pause, until } from "./kit/until.js";

let bench: Bench;

beforeEach(async () => {
  bench = await new Bench().start();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await bench.stop();
});

const call = (requestId: string): ToolCall => ({ name: "t", args: { n: 1 }, requestId });

test("receipts outlive a bus that is away", async () => {
  const gate = await bench.gate();
  const id = randomUUID();
  const asking = gate.ask(call(id));
  await bench.console.decide(id);
  const decision = await asking;
  await bench.console.receipt(id, "received");
  await bench.server.stop();
  gate.receiptLater(decision, "executed", { executedArgsDigest: decision.argsDigest });
  await bench.server.start();
  await until(async () => {
    const { state } = await bench.console.api("STREAM.INFO.CS_RECEIPTS").catch(() => ({ state: { messages: 0 } }));
    return state.messages === 2;
  });
});

test("closing while the bus is away ends soon", async () => {
  const gate = await Gate.connect(bench.file());
  const asking = expect(gate.ask(call(randomUUID()))).rejects.toMatchObject({ code: "gate_closed" });
  await bench.server.stop();
  const begun = Date.now();
  await gate.close();
  await asking;
  expect(Date.now() - begun).toBeLessThan(5000);
  await bench.server.start();
});

class AwayBus {
  readonly taken: string[] = [];
  constructor(private takes: number) {}
  get connected(): boolean {
    return this.takes > 0;
  }
  get ended(): boolean {
    return false;
  }
  async pause(): Promise<void> {
    await pause(1);
  }
  async store(_: string, payload: Uint8Array): Promise<boolean> {
    if (this.takes <= 0) throw new NotSentError("away");
    this.takes -= 1;
    this.taken.push(Buffer.from(payload).toString());
    return true;
  }
}

const letter = (id: string, text: string) => ({
  subject: `countersign.v1.receipt.a.b.${id}`,
  payload: Buffer.from(text),
  first: false,
});

test("letters of one subject keep their order whatever each of them meets", async () => {
  const bus = new AwayBus(10);
  let tries = 0;
  const fickle = Object.assign(Object.create(bus), {
    store: (subject: string, payload: Uint8Array) =>
      payload.toString() === "0" && (tries += 1) < 4
        ? Promise.reject(new BusUnreachableError("no answer"))
        : bus.store(subject, payload),
  }) as Bus;
  const outbox = new Outbox(fickle);
  for (const text of ["0", "1", "2"]) void outbox.post(letter("c", text));
  void outbox.post(letter("other", "other"));
  await outbox.close(5);
  expect(bus.taken).toEqual(["other", "0", "1", "2"]);
});

test("what closing cuts off is given up", async () => {
  const outbox = new Outbox(new AwayBus(0) as unknown as Bus);
  const given = expect(outbox.post(letter("c", "x"))).rejects.toMatchObject({ code: "gate_closed" });
  await outbox.close(0.05);
  await given;
  await until(() => outbox.size === 0);
});

test("steps of a trace wait for the bus, at most a thousand of them", async () => {
  const bus = new AwayBus(0);
  const queue = new SpanQueue(bus as unknown as Bus, "countersign.v1.event.a.b");
  for (let count = 0; count < 1100; count += 1) queue.put(Buffer.from(String(count)));
  await pause(20);
  Object.assign(bus, { takes: 5000 });
  await queue.close(10);
  expect(bus.taken).toHaveLength(1000);
  expect(bus.taken[999]).toBe("999");
  queue.put(Buffer.from("late"));
  expect(bus.taken).toHaveLength(1000);
});

test("an agent.json that is none is told with what to do", async () => {
  const file = `${bench.folder}/wrong.json`;
  for (const [content, words] of [
    ["{", "not JSON"],
    ["[]", "not an object"],
    [JSON.stringify(bench.agentJson({ workspace: "A B" })), "not a name"],
    [JSON.stringify(bench.agentJson({ realm: "x" })), "not a UUID"],
    [JSON.stringify(bench.agentJson({ nkey_seed: "SU" })), "not an nkey seed"],
    [JSON.stringify(bench.agentJson({ inbox_prefix: "_INBOX" })), "inbox_prefix"],
    [JSON.stringify(bench.agentJson({ log: { root: "x", n: 1, digest: "y" } })), "`log`"],
    [JSON.stringify(bench.agentJson({ nats_url: "http://secret@x" })), "nats_url"],
    [JSON.stringify(bench.agentJson({ tls_cert: "x" })), "belong together"],
    [JSON.stringify(bench.agentJson({ nats_creds: "none" })), "nats_creds"],
  ] as const) {
    writeFileSync(file, content, { mode: 0o600 });
    const failed = await Gate.connect(file).catch((error: Error) => error);
    expect(failed).toMatchObject({ name: "EnrolmentError", code: "enrolment" });
    expect(String(failed)).toContain(words);
    expect(String(failed)).not.toMatch(/secret|SUA/);
  }
  await expect(Gate.connect(`${bench.folder}/none.json`)).rejects.toThrow("ENOENT");
  expect(JSON.stringify(bench.enrolment())).not.toContain(bench.agentKey.seed);
});
