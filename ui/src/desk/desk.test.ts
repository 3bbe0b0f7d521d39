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
