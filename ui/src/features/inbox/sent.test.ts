import { describe, expect, it } from "vitest";
import { row, shown } from "../../../test/build";
import { fade, follow, note, put, sentState, undoable, type Sent } from "./sent";

const sent = (more: Partial<Sent> = {}): Sent => ({
  key: "a", name: shown("t"), verdict: "approve", sentAs: "approve", state: "holding", releaseMs: 3_000, by: null,
  message: null, sinceMs: 0, ...more,
});

describe("a sent verdict", () => {
  it("reads as stored only for what the stream has acknowledged", () => {
    expect(["pending", "holding", "queued", "expired", "void"].map((state) => sentState(state as never)))
      .toEqual(["failed", "holding", "queued", "failed", "failed"]);
    expect(sentState("decided")).toBe("stored");
  });

  it("becomes stored by our own stored decision and lost by a stranger's", () => {
    const mine = note([sent({ state: "queued" })], { key: "a", verdict: "approve", by: shown("me"), mine: true }, 9);
    expect(mine[0]).toMatchObject({ state: "stored", sinceMs: 9 });
    const theirs = note([sent()], { key: "a", verdict: "deny", by: shown("maria"), mine: false }, 9);
    expect(theirs[0]).toMatchObject({ state: "lost", by: shown("maria"), sentAs: "deny" });
  });

  it("is not changed by a receipt or by news of another request", () => {
    const list = [sent()];
    expect(note(list, { key: "a", verdict: null, by: null, mine: false }, 9)).toEqual(list);
    expect(note(list, { key: "b", verdict: "deny", by: null, mine: true }, 9)).toEqual(list);
  });

  it("can be undone while it is held, the last one first", () => {
    const list = put(put([], sent()), sent({ key: "b" }));
    expect(undoable(list)?.key).toBe("b");
    expect(undoable([sent({ state: "queued" })])).toBeNull();
  });

  it("waits for the stream once its hold is over, and is not taken back then", () => {
    const list = [sent(), sent({ key: "b" }), sent({ key: "c", state: "stored" })];
    const rows = [row({ key: "a", state: "queued" }), row({ key: "b", state: "holding" }), row({ key: "c", state: "queued" })];
    const after = follow(list, rows, 9);
    expect(after.map(({ state }) => state)).toEqual(["queued", "holding", "stored"]);
    expect(undoable(after)?.key).toBe("b");
    expect(follow(after, rows, 10)).toBe(after);
  });

  it("fades only when nothing about it is open", () => {
    const list = [sent({ state: "holding" }), sent({ key: "b", state: "stored" }), sent({ key: "c", state: "lost" })];
    expect(fade(list, 10_000).map(({ key }) => key)).toEqual(["a", "c"]);
  });
});
