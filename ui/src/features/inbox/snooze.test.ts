import { describe, expect, it } from "vitest";
import { backAt, BACK_MS, choicesOf, pruned, readSnoozes } from "./snooze";

const HOUR = 3_600_000;
const due = (deadlineMs: number, hasDeadline = true): { deadlineMs: number; hasDeadline: boolean } => ({
  deadlineMs,
  hasDeadline,
});

describe("snoozing", () => {
  it("never offers a time beyond the minute before the deadline", () => {
    for (const left of [0, 30_000, 60_000, 61_000, 400_000, HOUR, 5 * HOUR, 100 * HOUR]) {
      for (const choice of choicesOf(due(1_000 + left), 1_000)) {
        expect(choice.untilMs).toBeGreaterThan(1_000);
        expect(choice.untilMs).toBeLessThanOrEqual(1_000 + left - BACK_MS);
      }
    }
    expect(choicesOf(due(60_000), 0)).toEqual([]);
    expect(choicesOf(due(61_000), 0).map((choice) => choice.label)).toEqual(["until a minute before its deadline"]);
    expect(choicesOf(due(HOUR + BACK_MS + 1), 0).map((choice) => choice.label)).toEqual([
      "5 minutes",
      "15 minutes",
      "1 hour",
      "until a minute before its deadline",
    ]);
    expect(choicesOf(due(1_000 * HOUR, false), 0).map((choice) => choice.label)).not.toContain(
      "until a minute before its deadline",
    );
  });

  it.each([
    ["until then it is put off", 600_000, "pending", 599_999, 600_000],
    ["at that time it is back", 600_000, "pending", 600_000, null],
    ["a deadline that came closer brings it back earlier", 10 * HOUR, "pending", 0, HOUR - BACK_MS],
    ["a minute before its deadline it is back", 10 * HOUR, "pending", HOUR - BACK_MS, null],
    ["what is held or on its way is shown", 600_000, "holding", 0, null],
  ] as const)("%s", (_, until, state, now, back) => {
    expect(backAt({ key: "a", deadlineMs: HOUR, state }, { a: until }, now)).toBe(back);
  });

  it("forgets what is over and what it cannot read", () => {
    expect(pruned({ a: 1, b: 3 }, 2)).toEqual({ b: 3 });
    expect(['{"a":5,"b":"x"}', "no", "null", null].map(readSnoozes)).toEqual([{ a: 5 }, {}, {}, {}]);
  });
});
