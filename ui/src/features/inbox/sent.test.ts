import { describe, expect, it } from "vitest";
import { row, shown } from "../../../test/build";
import { fade, follow, note, put, sentState, shownAgain, undoable, wordsOf, type Sent } from "./sent";

const sent = (more: Partial<Sent> = {}): Sent => ({
  key: "a",
  name: shown("t"),
  args: [],
  batch: null,
  finding: null,
  verdict: "approve",
  sentAs: "approve",
  state: "holding",
  releaseMs: 3_000,
  isVote: false,
  listed: false,
  by: null,
  message: null,
  practice: null,
  sinceMs: 0,
  ...more,
});

const keys = (list: readonly Sent[]): string[] => list.map(({ key }) => key);

const waits = (mine: boolean) => [
  row({ key: "a", state: "pending", votes: { required: 2, given: mine ? 1 : 0, apart: 0, mine } }),
];

describe("a sent verdict", () => {
  it("reads as stored only for what the stream has acknowledged", () => {
    expect(["pending", "holding", "queued", "expired", "void"].map((state) => sentState(state as never))).toEqual([
      "voted",
      "holding",
      "queued",
      "failed",
      "failed",
    ]);
    expect(sentState("decided")).toBe("stored");
  });

  it("becomes stored by our own stored decision and lost by a stranger's", () => {
    const mine = note([sent({ state: "queued" })], { key: "a", verdict: "approve", by: shown("me"), mine: true }, 9);
    expect(mine[0]).toMatchObject({ state: "stored", sinceMs: 9 });
    const theirs = note([sent()], { key: "a", verdict: "deny", by: shown("maria"), mine: false }, 9);
    expect(theirs[0]).toMatchObject({ state: "lost", by: shown("maria"), sentAs: "deny" });
  });

  it.each(["expired", "withdrawn", "void"])(
    "is shown as not in force when its request is %s, and as nobody else's decision",
    (verdict) => {
      for (const state of ["holding", "queued", "voted"] as const) {
        const [after] = note([sent({ state })], { key: "a", verdict, by: null, mine: false }, 9);
        expect(after).toMatchObject({ state: "over", sentAs: verdict, sinceMs: 9 });
        expect(wordsOf(after as Sent).strong).toBe("not in force:");
        expect(wordsOf(after as Sent).rest).not.toContain("first");
      }
    },
  );

  it("of several operators counts as a vote until they have decided", () => {
    const vote = sent({ isVote: true });
    expect(follow([vote], [row({ key: "a", state: "holding" })], 1)[0]).toMatchObject({
      state: "holding",
      listed: true,
    });
    const released = follow([{ ...vote, listed: true }], waits(false), 3_000);
    expect(released[0]).toMatchObject({ state: "queued" });
    const voted = follow(released, waits(true), 3_050);
    expect(voted[0]).toMatchObject({ state: "voted" });
    expect(undoable(voted)).toEqual([]);
    expect(note(voted, { key: "a", verdict: "approve", by: shown("ann"), mine: false }, 9)[0]).toMatchObject({
      state: "stored",
    });
    expect(note(voted, { key: "a", verdict: "deny", by: shown("ann"), mine: false }, 9)[0]).toMatchObject({
      state: "lost",
    });
  });

  it("that was held and waits again was not sent, and is not offered to be taken back", () => {
    const dropped = follow([sent({ listed: true })], [row({ key: "a", state: "pending" })], 500);
    expect(dropped[0]).toMatchObject({ state: "back", sinceMs: 500 });
    expect(undoable(dropped)).toEqual([]);
    // A list that is older than the answer says nothing, one that never shows the hold does in the end.
    const fresh = [sent()];
    expect(follow(fresh, [row({ key: "a", state: "pending" })], 100)).toBe(fresh);
    expect(follow(fresh, [row({ key: "a", state: "pending" })], 14_000)[0]).toMatchObject({ state: "back" });
    // And where it was late, it is believed.
    expect(follow(dropped, [row({ key: "a", state: "queued" })], 600)[0]).toMatchObject({ state: "queued" });
  });

  it("that came to its end while nobody looked is reported for as long as any other", () => {
    const list = [sent({ state: "lost", sinceMs: 0 }), sent({ key: "b", sinceMs: 0 })];
    const again = shownAgain(list, 60_000);
    expect(fade(again, 79_000).map(({ key }) => key)).toEqual(["a", "b"]);
    expect(again[1]).toBe(list[1]);
  });

  it("is not changed by a receipt or by news of another request", () => {
    const list = [sent()];
    expect(note(list, { key: "a", verdict: null, by: null, mine: false }, 9)).toEqual(list);
    expect(note(list, { key: "b", verdict: "deny", by: null, mine: true }, 9)).toEqual(list);
  });

  it("keeps its place whatever becomes of it, and a new one comes before it", () => {
    let list = ["a", "b", "c"].reduce<readonly Sent[]>((sofar, key) => put(sofar, sent({ key, state: "sending" })), []);
    expect(keys(list)).toEqual(["c", "b", "a"]);
    for (const state of ["holding", "stored", "failed"] as const)
      for (const key of ["b", "a", "c"]) list = put(list, sent({ key, state }));
    expect(keys(list)).toEqual(["c", "b", "a"]);
  });

  it("of a batch stays as long as any other of it", () => {
    const list = [
      sent({ key: "a", batch: 1, state: "stored" }),
      sent({ key: "b", batch: 1, state: "stored", sinceMs: 5_000 }),
      sent({ key: "c", state: "stored" }),
    ];
    expect(fade(list, 8_000).map(({ key }) => key)).toEqual(["a", "b"]);
    expect(fade(list, 11_000)).toEqual([]);
  });

  it("can be undone while it is held, the last one first", () => {
    const list = put(put([], sent()), sent({ key: "b" }));
    expect(undoable(list).map((entry) => entry.key)).toEqual(["b"]);
    expect(undoable([sent({ state: "queued" })])).toEqual([]);
  });

  it("can be undone with all that were given together with it and are still held, and with no other", () => {
    const list = [
      sent({ key: "d", batch: 2 }),
      sent({ key: "c", batch: 2, state: "queued" }),
      sent({ key: "b", batch: 2 }),
      sent({ batch: 1 }),
      sent({ key: "alone" }),
    ];
    expect(undoable(list).map((entry) => entry.key)).toEqual(["d", "b"]);
    expect(undoable(list.slice(3)).map((entry) => entry.key)).toEqual(["a"]);
    expect(undoable(list.slice(4)).map((entry) => entry.key)).toEqual(["alone"]);
  });

  it("waits for the stream once its hold is over, and is not taken back then", () => {
    const list = [sent(), sent({ key: "b" }), sent({ key: "c", state: "stored" })];
    const rows = [
      row({ key: "a", state: "queued" }),
      row({ key: "b", state: "holding" }),
      row({ key: "c", state: "queued" }),
    ];
    const after = follow(list, rows, 9);
    expect(after.map(({ state }) => state)).toEqual(["queued", "holding", "stored"]);
    expect(undoable(after).map((entry) => entry.key)).toEqual(["b"]);
    expect(follow(after, rows, 10)).toBe(after);
  });

  it("fades only when nothing about it is open", () => {
    const list = [sent({ state: "holding" }), sent({ key: "b", state: "stored" }), sent({ key: "c", state: "lost" })];
    expect(fade(list, 10_000).map(({ key }) => key)).toEqual(["a", "c"]);
  });
});
