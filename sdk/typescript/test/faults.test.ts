/** What may fail around a request: the server goes away, the bus refuses, nobody listens. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Enrolment, Gate, type ToolCall } from "../src/index.js";
import { Bus } from "../src/bus.js";
import { BusRefusedError, BusUnreachableError } from "../src/errors.js";
import { Bench } from "./kit/bench.js";
import { Key } from "./kit/key.js";
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

async function restart(): Promise<void> {
  await bench.server.stop();
  await bench.server.start();
  await until(() => bench.console.api("STREAM.INFO.CS_DECISIONS", {}, 1000).catch(() => false));
}

test("a restart of the server loses neither question nor answer", async () => {
  const gate = await bench.gate();
  const id = randomUUID();
  const asking = gate.ask(call(id), { timeout: 60 });
  await bench.console.request(id);
  await restart();
  await bench.console.decide(id);
  expect((await asking).allowed).toBe(true);
});

test("an answer given while the agent was away is found on return", async () => {
  const gate = await bench.gate();
  const id = randomUUID();
  const asking = gate.ask(call(id), { timeout: null });
  await bench.console.request(id);
  await bench.server.stop();
  await bench.server.start();
  await until(() => bench.console.api("STREAM.INFO.CS_DECISIONS", {}, 1000).catch(() => false));
  await bench.console.decide(id);
  expect((await asking).allowed).toBe(true);
});

test("a request made while the bus is away is placed on return", async () => {
  const gate = await bench.gate();
  await bench.server.stop();
  const id = randomUUID();
  const asking = gate.ask(call(id), { timeout: 60 });
  await pause(200);
  await bench.server.start();
  await until(() => bench.console.api("STREAM.INFO.CS_DECISIONS", {}, 1000).catch(() => false));
  await until(() =>
    bench.console
      .api("STREAM.MSG.GET.CS_REQUESTS", { last_by_subj: `countersign.v1.request.acme.billing-bot.${id}` })
      .catch(() => false),
  );
  const seen = await requestOf(id);
  const subject = seen.subject.replace(".request.", ".decision.");
  await bench.console.store(subject, ...bench.console.signed(subject, bench.console.decision(seen)));
  expect((await asking).allowed).toBe(true);
});

/** As it is stored, where the console's own connection came back too late to hear it. */
async function requestOf(id: string): Promise<any> {
  const subject = `countersign.v1.request.acme.billing-bot.${id}`;
  const { message } = await bench.console.api("STREAM.MSG.GET.CS_REQUESTS", { last_by_subj: subject });
  const payload = Buffer.from(message.data, "base64");
  return { subject, payload, body: JSON.parse(payload.toString()) };
}

test("a bus that stays away denies at the deadline", async () => {
  const gate = await bench.gate();
  await bench.server.stop();
  const begun = Date.now();
  await expect(gate.ask(call(randomUUID()), { timeout: 0.5 })).rejects.toMatchObject({ code: "bus_unreachable" });
  expect(Date.now() - begun).toBeGreaterThanOrEqual(490);
  await bench.server.start();
});

test("no bus at all is told in time", async () => {
  const nobody = bench.agentJson({ nats_url: "nats://ada:hunter2@127.0.0.1:1" });
  const failed = await Gate.connect(Enrolment.parse(nobody), { connectTimeout: 0.5 }).catch((error: Error) => error);
  expect(failed).toMatchObject({ code: "bus_unreachable" });
  expect(String(failed)).not.toContain("hunter2");
});

test("a login that the bus does not know is told at once", async () => {
  const stranger = new Key();
  const changes = { nkey_seed: stranger.seed, inbox_prefix: `_INBOX_${stranger.public}` };
  await expect(Gate.connect(bench.enrolment(changes), { connectTimeout: 3600 })).rejects.toMatchObject({
    code: "bus_login_refused",
  });
});

test("speaking as another agent is refused at once", async () => {
  await expect(Gate.connect(bench.enrolment({ agent: "other-bot" }), { connectTimeout: 3600 })).rejects.toMatchObject({
    code: "permission",
  });
});

test("a full stream is waited for and denies at the deadline", async () => {
  const { config } = await bench.console.api("STREAM.INFO.CS_REQUESTS");
  await bench.console.api("STREAM.UPDATE.CS_REQUESTS", { ...config, max_bytes: 10 });
  const gate = await bench.gate();
  await expect(gate.ask(call(randomUUID()), { timeout: 0.6 })).rejects.toMatchObject({ code: "bus_unreachable" });
});

test("streams that are not there are waited for and deny at the deadline", async () => {
  await bench.console.api("STREAM.DELETE.CS_REQUESTS");
  const gate = await bench.gate();
  await expect(gate.ask(call(randomUUID()), { timeout: 0.6 })).rejects.toMatchObject({ code: "bus_unreachable" });
  expect(bench.console.of("withdraw")).toEqual([]);
});

test("a request that the bus refuses for good is told at once", async () => {
  const gate = await bench.gate();
  vi.spyOn(Bus.prototype, "store").mockRejectedValue(new BusRefusedError("no", "permission"));
  await expect(gate.ask(call(randomUUID()), { timeout: null })).rejects.toMatchObject({ code: "permission" });
});

/** The first try of a request ends so. */
function firstTry(end: (store: () => Promise<boolean>) => Promise<boolean>): void {
  const store = Bus.prototype.store;
  let tried = false;
  vi.spyOn(Bus.prototype, "store").mockImplementation(function (this: Bus, subject, ...rest) {
    if (tried || !subject.includes(".request.")) return store.call(this, subject, ...rest);
    tried = true;
    return end(() => store.call(this, subject, ...rest));
  });
}

test("a request whose acknowledgement was lost is its own", async () => {
  const gate = await bench.gate();
  firstTry(async (store) => {
    await store();
    throw new BusUnreachableError("the acknowledgement was lost");
  });
  const id = randomUUID();
  const asking = gate.ask(call(id));
  await bench.console.request(id);
  await pause(400);
  await bench.console.decide(id);
  expect((await asking).allowed).toBe(true);
});

test("a decision before the acknowledgement counts", async () => {
  const gate = await bench.gate();
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  firstTry(async (store) => {
    const own = await store();
    await held;
    return own;
  });
  const id = randomUUID();
  const asking = gate.ask(call(id), { timeout: null });
  await bench.console.decide(id);
  expect((await asking).allowed).toBe(true);
  release();
});

test.each([10008, 10023, 10047, 10077])("a bus that is busy for a moment (%i) is asked again", async (code) => {
  const gate = await bench.gate();
  firstTry(() => Promise.reject(new BusUnreachableError(`the bus does not take the message now (${code})`)));
  const id = randomUUID();
  const asking = gate.ask(call(id));
  await bench.console.decide(id);
  expect((await asking).allowed).toBe(true);
});

test("a question that stands is withdrawn when the next try is refused", async () => {
  const gate = await bench.gate();
  const store = Bus.prototype.store;
  let tries = 0;
  vi.spyOn(Bus.prototype, "store").mockImplementation(async function (this: Bus, subject, ...rest) {
    if (!subject.includes(".request.")) return store.call(this, subject, ...rest);
    tries += 1;
    if (tries === 2) throw new BusRefusedError("no", "bus_10060");
    await store.call(this, subject, ...rest);
    throw new BusUnreachableError("the acknowledgement was lost");
  });
  const id = randomUUID();
  await expect(gate.ask(call(id))).rejects.toMatchObject({ code: "bus_10060" });
  await bench.console.heard("withdraw", ({ subject }) => subject.endsWith(id));
});

test("looks that are not answered are made again", async () => {
  const gate = await bench.gate();
  const get = Bus.prototype.directGet;
  let left = 3;
  vi.spyOn(Bus.prototype, "directGet").mockImplementation(async function (this: Bus, subject, ...rest) {
    const stored = await get.call(this, subject, ...rest);
    if (stored !== null && subject.includes(".decision.") && left > 0) {
      left -= 1;
      throw new BusUnreachableError("no answer from the bus");
    }
    return stored;
  });
  const id = randomUUID();
  const asking = gate.ask(call(id));
  await bench.console.decide(id);
  expect((await asking).allowed).toBe(true);
  expect(left).toBe(0);
});

test("a slot that cannot be read lets nothing run until it can", async () => {
  const gate = await bench.gate();
  const get = Bus.prototype.directGet;
  let broken = true;
  vi.spyOn(Bus.prototype, "directGet").mockImplementation(async function (this: Bus, subject, ...rest) {
    if (broken && subject.includes(".realm.")) throw new BusUnreachableError("the bus sent an unreadable answer");
    return get.call(this, subject, ...rest);
  });
  const [one, two] = [randomUUID(), randomUUID()];
  const silent = gate.ask(call(one), { timeout: 4 });
  await bench.console.decide(one);
  expect(await silent).toMatchObject({ verdict: "expired", allowed: false });
  const asking = gate.ask(call(two));
  await bench.console.decide(two);
  await pause(300);
  broken = false;
  expect((await asking).allowed).toBe(true);
});

test("a decision that a lagging replica shows late is found at once", async () => {
  const gate = await bench.gate();
  const get = Bus.prototype.directGet;
  let hidden = 3;
  vi.spyOn(Bus.prototype, "directGet").mockImplementation(async function (this: Bus, subject, ...rest) {
    const stored = await get.call(this, subject, ...rest);
    if (stored === null || !subject.includes(".decision.") || hidden <= 0) return stored;
    hidden -= 1;
    return null;
  });
  const id = randomUUID();
  const asking = gate.ask(call(id));
  await bench.console.decide(id);
  expect((await asking).allowed).toBe(true);
});

test("empty hints do not keep the agent busy", async () => {
  const gate = await bench.gate();
  const looks = vi.spyOn(Bus.prototype, "directGet");
  const id = randomUUID();
  const asking = gate.ask(call(id));
  const seen = await bench.console.request(id);
  const begun = Date.now();
  for (let count = 0; count < 200; count += 1) {
    bench.console.nc.publish(seen.subject.replace(".request.", ".decided."), "");
    await pause(1);
  }
  // A hint makes a look of at most six small messages, and six looks in a second and a half are what hints bring.
  expect(looks.mock.calls.length).toBeLessThan(60 + (30 * (Date.now() - begun)) / 1000);
  await bench.console.decide(id);
  expect((await asking).allowed).toBe(true);
});
