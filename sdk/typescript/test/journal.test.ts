/** Asks that survive their process (integrations, section 2), sentence by sentence. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Gate, type AskOptions, type ToolCall } from "../src/index.js";
import { Bus } from "../src/bus.js";
import { Journal } from "../src/journal.js";
import { benchOfFile } from "./kit/bench.js";
import type { Received } from "./kit/console.js";
import { pause, SOON, until } from "./kit/until.js";

const KEY = "thread/call-1";
const bench = benchOfFile();
let folder: string;

beforeEach(() => {
  folder = `${bench().folderFor("pending")}/journal`;
});
afterEach(() => {
  vi.restoreAllMocks();
});

const pay = (changes: Partial<ToolCall> = {}): ToolCall => ({
  name: "pay",
  args: { to: "ada", n: 1 },
  callId: folder,
  ...changes,
});

/** A gate with the journal, as one process after another opens it. */
const agent = (): Promise<Gate> => bench().gate({ journal: folder });

const entries = (): string[] => readdirSync(folder).filter((name) => name.endsWith(".json"));

/** The requests of this test: those of the one before may arrive late. */
const asked = (): Received[] =>
  bench()
    .console.of("request")
    .filter(({ body }) => body.call_id === folder);

/** The next request that arrives after `before` of them. */
async function next(before: number): Promise<string> {
  const found = await until(() => asked()[before]);
  return found.body.request_id;
}

/** Ids of what was asked, once it can have arrived. What is sent again is stored once. */
async function askedSince(before: number): Promise<string[]> {
  await bench().console.nc.flush();
  await pause(100);
  return [
    ...new Set(
      asked()
        .slice(before)
        .map(({ body }) => body.request_id as string),
    ),
  ];
}

const count = (): number => asked().length;

/** Asks, and the gate is closed while it waits. The id of the request. */
async function leftStanding(how: AskOptions = {}): Promise<string> {
  const before = count();
  const gate = await agent();
  const ended = expect(gate.ask(pay(), { key: KEY, ...how })).rejects.toMatchObject({ code: "gate_closed" });
  const id = await next(before);
  await gate.close();
  await ended;
  return id;
}

test("the folder and its files are for their owner alone", async () => {
  await leftStanding();
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(folder)) expect(statSync(`${folder}/${name}`).mode & 0o777).toBe(0o600);
  expect(entries()).toHaveLength(1);
});

test("an entry is on the disk before its request is published", async () => {
  const gate = await agent();
  const store = Bus.prototype.store;
  const there: number[] = [];
  vi.spyOn(Bus.prototype, "store").mockImplementation(function (this: Bus, subject, ...rest) {
    if (subject.includes(".request.")) there.push(entries().length);
    return store.call(this, subject, ...rest);
  });
  const stop = new AbortController();
  const asking = expect(gate.ask(pay(), { key: KEY, signal: stop.signal })).rejects.toThrow("abort");
  await until(() => there.length);
  stop.abort();
  await asking;
  expect(there[0]).toBe(1);
});

test.each(["abort", "close", "kill"])(
  "what ends the wait (%s) leaves the request, and the next ask takes its answer",
  async (end) => {
    const { console } = bench();
    const before = count();
    const withdrawn = console.of("withdraw").length;
    let id: string;
    if (end === "close") {
      id = await leftStanding();
    } else if (end === "abort") {
      const gate = await agent();
      const stop = new AbortController();
      const asking = expect(gate.ask(pay(), { key: KEY, signal: stop.signal })).rejects.toThrow("abort");
      id = await next(before);
      stop.abort();
      await asking;
      await gate.close();
    } else {
      const child = spawn(process.execPath, ["--import", "tsx", "test/kit/ask-once.ts", bench().file(), folder, KEY]);
      id = await next(before);
      child.kill("SIGKILL");
      await new Promise((resolve) => child.once("exit", resolve));
    }
    await console.decide(id);
    const gate = await agent();
    expect(await gate.ask(pay(), { key: KEY })).toMatchObject({
      requestId: id,
      allowed: true,
      args: { to: "ada", n: 1 },
    });
    expect(await askedSince(before)).toEqual([id]);
    expect(console.of("withdraw").slice(withdrawn)).toEqual([]);
    expect(entries()).toEqual([]);
  },
);

test("an answer is handed out once", async () => {
  const before = count();
  const id = await leftStanding();
  await bench().console.decide(id);
  const gate = await agent();
  await gate.ask(pay(), { key: KEY });
  const stop = new AbortController();
  const again = expect(gate.ask(pay(), { key: KEY, signal: stop.signal })).rejects.toThrow("abort");
  const ids = await until(async () => {
    const found = await askedSince(before);
    return found.length > 1 && found;
  });
  expect(ids[1]).not.toBe(id);
  stop.abort();
  await again;
});

test("an answer that cannot be marked, or that somebody else marked, is not handed out", async () => {
  const id = await leftStanding();
  const gate = await agent();
  const published = vi.spyOn(Bus.prototype, "store");
  const asking = gate.ask(pay(), { key: KEY });
  await until(() => published.mock.calls.some(([subject]) => subject.endsWith(id)));
  const [name] = entries();
  writeFileSync(`${folder}/${name}`, "{}");
  const ended = expect(asking).rejects.toMatchObject({ code: "journal" });
  await bench().console.decide(id);
  await ended;
});

test.each([{ args: { to: "eve", n: 1 } }, { name: "refund" }])(
  "the same key for another call withdraws the former",
  async (other) => {
    const id = await leftStanding();
    const before = count();
    const gate = await agent();
    const asking = gate.ask(pay(other), { key: KEY });
    await bench().console.heard("withdraw", ({ subject }) => subject.endsWith(id));
    await bench().console.decide(await next(before), "deny");
    expect((await asking).verdict).toBe("deny");
  },
);

test("a second ask of a key that waits is refused, in this and in another process", async () => {
  const before = count();
  const [gate, other] = [await agent(), await agent()];
  const asking = gate.ask(pay(), { key: KEY });
  const id = await next(before);
  for (const second of [gate, other]) {
    await expect(second.ask(pay(), { key: KEY })).rejects.toMatchObject({ code: "already_waiting" });
  }
  const child = spawn(process.execPath, ["--import", "tsx", "test/kit/ask-once.ts", bench().file(), folder, KEY]);
  let said = "";
  child.stdout.on("data", (data) => (said += data));
  await new Promise((resolve) => child.once("exit", resolve));
  expect(said).toContain("already_waiting");
  await bench().console.decide(id);
  expect((await asking).allowed).toBe(true);
});

test("withdraw takes a kept request back, waited for or not", async () => {
  const before = count();
  const gate = await agent();
  const asking = gate.ask(pay(), { key: KEY });
  await gate.withdraw(await next(before));
  expect((await asking).verdict).toBe("withdrawn");
  expect(entries()).toEqual([]);
  const id = await leftStanding();
  const later = await agent();
  await later.withdraw(id, "no longer");
  await bench().console.heard("withdraw", ({ subject }) => subject.endsWith(id));
  expect(entries()).toEqual([]);
  await expect(later.withdraw(id)).rejects.toMatchObject({ code: "not_found" });
});

function altered(changes: object): void {
  const path = `${folder}/${entries()[0]}`;
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...changes }));
}

test("the timer goes on over restarts, and an approval after it is refused", async () => {
  const id = await leftStanding({ timeout: 4 });
  await pause(4100);
  await bench().console.decide(id);
  const gate = await agent();
  expect(await gate.ask(pay(), { key: KEY })).toMatchObject({ verdict: "expired", allowed: false });
  expect((await bench().console.receipt(id, "refused")).message).toBe("late");
  expect(entries()).toEqual([]);
});

test.each([
  ["another boot, by the wall clock", { boot: "other", wall: Date.now() / 1000 - 61 }, "expired"],
  ["another boot, whose wall clock went back", { boot: "other", wall: Date.now() / 1000 + 3600 }, "expired"],
  ["this boot, whose clock went back", { ticks: 1e12 }, "expired"],
  ["this boot, whatever the wall clock says", { wall: Date.now() / 1000 - 61 }, "approve"],
])("%s", async (_, changes, verdict) => {
  const id = await leftStanding();
  altered(changes);
  await bench().console.decide(id);
  const gate = await agent();
  expect((await gate.ask(pay(), { key: KEY })).verdict).toBe(verdict);
});

test.each([{ realm: "x" }, { workspace: "x" }, { agent: "x" }, { v: 2 }, { payload: "{}" }, { lifetime_ms: "1" }])(
  "an entry with %o counts as none",
  async (changes) => {
    const id = await leftStanding();
    altered(changes);
    const before = count();
    const gate = await agent();
    const asking = gate.ask(pay(), { key: KEY });
    const fresh = await next(before);
    expect(fresh).not.toBe(id);
    await bench().console.decide(fresh);
    expect((await asking).allowed).toBe(true);
  },
);

test("entries older than their deadline plus a day are removed at connect", async () => {
  await leftStanding();
  altered({ wall: Date.now() / 1000 - 86_400 - 50 });
  writeFileSync(`${folder}/broken.json`, "{");
  utimesSync(`${folder}/broken.json`, 1, 1);
  await agent();
  expect(entries()).toHaveLength(1);
  altered({ wall: Date.now() / 1000 - 86_400 - 70 });
  await agent();
  expect(entries()).toEqual([]);
});

test("without a journal a key changes nothing, and without a key a journal", async () => {
  const before = count();
  const gate = await bench().gate();
  const asking = gate.ask(pay(), { key: KEY });
  await bench().console.decide(await next(before));
  expect((await asking).allowed).toBe(true);
  const kept = await agent();
  const other = kept.ask(pay());
  await bench().console.decide(await next(before + 1));
  expect((await other).allowed).toBe(true);
  expect(entries()).toEqual([]);
});

test("a folder that cannot be made opens no gate", async () => {
  await expect(bench().gate({ journal: "/proc/nowhere" })).rejects.toMatchObject({ code: "journal" });
  expect(() => new Journal("/proc/nowhere", bench().enrolment())).toThrow("cannot make");
});

test("what was not published before is published with the same bytes", async () => {
  const store = Bus.prototype.store;
  const lost = vi.spyOn(Bus.prototype, "store").mockImplementation(function (this: Bus, subject, ...rest) {
    return subject.includes(".request.") ? new Promise(() => undefined) : store.call(this, subject, ...rest);
  });
  const gate = await agent();
  const ended = expect(gate.ask(pay(), { key: KEY })).rejects.toMatchObject({ code: "gate_closed" });
  await until(() => lost.mock.calls.some(([subject]) => subject.includes(".request.")));
  await gate.close();
  await ended;
  lost.mockRestore();
  const { payload } = JSON.parse(readFileSync(`${folder}/${entries()[0]}`, "utf8"));
  const before = count();
  const later = await agent();
  const asking = later.ask(pay(), { key: KEY });
  const id = await next(before);
  expect(Buffer.from((await bench().console.request(id)).payload).toString()).toBe(payload);
  await bench().console.decide(id);
  expect((await asking).allowed).toBe(true);
});

test("a guarded function takes a key, and says its refusals in the words of section 1", async () => {
  const before = count();
  const gate = await agent();
  const ran: unknown[] = [];
  const guarded = gate.guard("pay", { risk: "high", callId: folder, key: KEY, timeout: SOON }, (args: { n: number }) =>
    ran.push(args),
  );
  const asking = guarded({ n: 1 });
  await bench().console.decide(await next(before), "deny", { message: "too much" });
  await expect(asking).rejects.toMatchObject({
    name: "NotAllowedError",
    message: "pay was not run, denied by Ada: too much",
  });
  expect(ran).toEqual([]);
});
