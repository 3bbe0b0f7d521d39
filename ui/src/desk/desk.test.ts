import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { batch, row, shown, status } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import type { StatusView } from "../ipc/generated";
import { CallError } from "../ipc/transport";
import { createDesk, type Desk } from "./desk";

const BEAT_MS = 5_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const fails = (): never => {
  throw new CallError("failed", "the store is busy");
};
const connected = async (
  answers: FakeConsole["answers"] = {},
): Promise<{ readonly console: FakeConsole; readonly desk: Desk }> => {
  const console = fakeConsole({ answers });
  const desk = createDesk(console);
  desk.start();
  await vi.advanceTimersByTimeAsync(0);
  return { console, desk };
};

describe("the list", () => {
  it("begins with what waits next, and is known when all of it is read", async () => {
    let whole!: () => void;
    const { console, desk } = await connected({
      inbox_first: () => ({ rows: [row({ key: "b", deadlineMs: 2 }), row({ key: "a", deadlineMs: 1 })] }),
      inbox_snapshot: () =>
        new Promise((done) => {
          whole = () => {
            done({
              number: 1,
              rows: [row({ key: "a", deadlineMs: 1 }), row({ key: "c", deadlineMs: 3 })],
              serverMs: 0,
            });
          };
        }),
    });
    const keys = (): string[] => desk.view().inbox.rows.map((one) => one.key);
    expect([keys(), desk.view().loaded]).toEqual([["a", "b"], false]);
    console.send(batch(2, [{ type: "gone", key: "c" }]));
    whole();
    await vi.advanceTimersByTimeAsync(0);
    expect([keys(), desk.view().loaded]).toEqual([["a"], true]);
  });

  it("is read whole where its beginning cannot be read", async () => {
    const { desk } = await connected({
      inbox_first: fails,
      inbox_snapshot: () => ({ number: 0, rows: [row({ key: "a" })], serverMs: 0 }),
    });
    expect([desk.view().inbox.rows.length, desk.view().loaded, desk.view().listError]).toEqual([1, true, null]);
  });
});

describe("the status", () => {
  it("that was reported while an older one was read is not taken back by it", async () => {
    const { console, desk } = await connected();
    let answer!: (status: StatusView) => void;
    console.answers.status = () =>
      new Promise((done) => {
        answer = done;
      });
    await vi.advanceTimersByTimeAsync(BEAT_MS);
    console.send(batch(1, [], { status: status({ panic: shown("maria"), locked: true }) }));
    answer(status());
    await vi.advanceTimersByTimeAsync(0);
    expect(desk.view().status).toMatchObject({ panic: shown("maria"), locked: true });
  });

  it("that cannot be read is reported, until it is read again or told", async () => {
    const { console, desk } = await connected();
    const trouble = (): string | undefined => desk.view().statusError?.message;
    const seen: (string | undefined)[] = [];
    for (const next of [fails, status, fails]) {
      console.answers.status = () => next();
      // oxlint-disable-next-line no-await-in-loop -- one beat after the other
      await vi.advanceTimersByTimeAsync(BEAT_MS);
      seen.push(trouble());
    }
    console.send(batch(1, [], { status: status() }));
    expect([...seen, trouble()]).toEqual(["the store is busy", undefined, "the store is busy", undefined]);
  });

  it("is read with every beat where nothing reports it", async () => {
    const { console, desk } = await connected();
    console.send(batch(1, [], { status: status({ lag: 1 }) }));
    console.answers.status = () => status({ lag: 2 });
    await vi.advanceTimersByTimeAsync(BEAT_MS);
    expect(desk.view().status?.lag).toBe(2);
  });
});

describe("the list", () => {
  it("that cannot be read is reported, and read again", async () => {
    const { console, desk } = await connected({ inbox_snapshot: fails });
    expect([desk.view().listError?.message, desk.view().lost]).toEqual(["the store is busy", null]);
    console.answers.inbox_snapshot = () => ({ number: 1, rows: [row()], serverMs: 0 });
    await vi.advanceTimersByTimeAsync(BEAT_MS);
    expect([desk.view().listError, desk.view().inbox.rows.length]).toEqual([null, 1]);
  });
});
