import { describe, expect, it } from "vitest";
import { batch, row } from "../../test/build";
import { applyBatch, applySnapshot, emptyInbox, type InboxState } from "./inboxState";

const keys = (state: InboxState): string[] => state.rows.map((entry) => entry.key);
const start = applySnapshot(emptyInbox, {
  number: 4,
  serverMs: 0,
  rows: [row({ key: "b", deadlineMs: 20 }), row({ key: "a", deadlineMs: 10 })],
}).state;

describe("the list", () => {
  it("is in deadline order, then in order of arrival", () => {
    const after = applyBatch(
      start,
      batch(5, [
        { type: "put", row: row({ key: "late", deadlineMs: 30, seq: 1 }) },
        { type: "put", row: row({ key: "b2", deadlineMs: 20, seq: 0 }) },
        { type: "put", row: row({ key: "first", deadlineMs: 1 }) },
      ]),
    ).state;
    expect(keys(after)).toEqual(["first", "a", "b2", "b", "late"]);
  });

  it("moves a row whose deadline was tightened and drops one that is gone", () => {
    const after = applyBatch(
      start,
      batch(5, [
        { type: "put", row: row({ key: "b", deadlineMs: 5 }) },
        { type: "gone", key: "a" },
      ]),
    ).state;
    expect(keys(after)).toEqual(["b"]);
  });

  it("keeps the rows that did not change as they are, for the painter", () => {
    const after = applyBatch(start, batch(5, [{ type: "put", row: row({ key: "c", deadlineMs: 15 }) }])).state;
    expect(after.rows[0]).toBe(start.rows[0]);
    expect(after.rows[2]).toBe(start.rows[1]);
  });

  it("gives the same list in one batch as one by one", () => {
    const changes = Array.from({ length: 200 }, (_, index) => ({
      type: "put" as const,
      row: row({ key: `k${index % 150}`, deadlineMs: (index * 7919) % 97, seq: index }),
    }));
    const whole = applyBatch(start, batch(5, changes)).state;
    let single = start;
    changes.forEach((change, index) => {
      single = applyBatch(single, batch(5 + index, [change])).state;
    });
    expect(keys(whole)).toEqual(keys(single));
  });
});

describe("the order of batches", () => {
  it("ignores what the snapshot contains already", () => {
    expect(applyBatch(start, batch(4, [{ type: "gone", key: "a" }]))).toEqual({ state: start, resync: false });
  });

  it("asks for a snapshot on a gap and shows the old rows meanwhile", () => {
    const gap = applyBatch(start, batch(7, [{ type: "gone", key: "a" }]));
    expect(gap.resync).toBe(true);
    expect(keys(gap.state)).toEqual(["a", "b"]);
    const healed = applySnapshot(gap.state, { number: 6, serverMs: 0, rows: [row({ key: "a", deadlineMs: 10 })] });
    expect(healed.resync).toBe(false);
    expect(keys(healed.state)).toEqual([]);
  });

  it("asks for a snapshot when the core says so", () => {
    expect(applyBatch(start, { ...batch(5, []), resync: true }).resync).toBe(true);
  });

  it("asks again when the snapshot is older than the gap", () => {
    const gap = applyBatch(start, batch(9, [])).state;
    expect(applySnapshot(gap, { number: 6, serverMs: 0, rows: [] }).resync).toBe(true);
  });

  it("asks again when the core asked while the snapshot was read", () => {
    const asked = applyBatch({ ...start, number: null }, { ...batch(7, []), resync: true }).state;
    expect(applySnapshot(asked, { number: 6, serverMs: 0, rows: [] }).resync).toBe(true);
    expect(applySnapshot(asked, { number: 7, serverMs: 0, rows: [] }).resync).toBe(false);
  });

  it("applies what came before the first snapshot", () => {
    const early = applyBatch(emptyInbox, batch(3, [{ type: "put", row: row({ key: "x" }) }])).state;
    expect(keys(applySnapshot(early, { number: 2, serverMs: 0, rows: [] }).state)).toEqual(["x"]);
  });
});
