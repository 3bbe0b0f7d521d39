import { describe, expect, it } from "vitest";
import { afterDecision, mostUrgent, moved, placeOf } from "./cursor";

const rows = (...keys: string[]) =>
  keys.map((key) => ({
    key: key.replace("*", ""),
    state: key.endsWith("*") ? ("holding" as const) : ("pending" as const),
  }));

describe("the cursor", () => {
  it("follows the item, not the row, when others arrive above it", () => {
    expect(placeOf(rows("a", "b"), "b")).toBe(1);
    expect(placeOf(rows("x", "y", "a", "b"), "b")).toBe(3);
  });

  it("moves by one and stops at both ends", () => {
    const list = rows("a", "b", "c");
    expect(moved(list, "a", 1, 0)).toBe("b");
    expect(moved(list, "c", 1, 2)).toBe("c");
    expect(moved(list, "a", -1, 0)).toBe("a");
    expect(moved(list, null, 1, 0)).toBe("a");
  });

  it("goes on from where a card was that has left the list", () => {
    const list = rows("a", "c");
    expect(moved(list, "b", 1, 1)).toBe("c");
    expect(moved(list, "b", -1, 1)).toBe("a");
    expect(moved(rows(), "b", 1, 1)).toBe("b");
  });

  it("goes to the next waiting card after a decision, then to the first", () => {
    expect(afterDecision(rows("a", "b", "c*", "d"), "b")).toBe("d");
    expect(afterDecision(rows("a", "b*", "c*"), "c")).toBe("a");
    expect(afterDecision(rows("a*"), "a")).toBe("a");
  });

  it("goes past all that were answered together, though the list does not know it yet", () => {
    expect(afterDecision(rows("a", "b", "c", "d"), "b", ["a", "b", "c"])).toBe("d");
    expect(afterDecision(rows("a", "b", "c"), "c", ["b", "c"])).toBe("a");
    expect(afterDecision(rows("a", "b"), "b", ["a", "b"])).toBe("b");
  });

  it("goes on from where an answered card was, though the list has lost it by then", () => {
    const before = rows("a", "b", "c", "d", "e");
    expect(afterDecision(rows("a", "b", "d", "e"), "c", ["c"], before)).toBe("d");
    expect(afterDecision(rows("a", "e"), "c", ["b", "c", "d"], before)).toBe("e");
    expect(afterDecision(rows("a", "new", "d*", "e"), "c", ["c"], before)).toBe("e");
    expect(afterDecision(rows("a", "b"), "e", ["e"], before)).toBe("a");
  });

  it("finds the most urgent among those that wait", () => {
    expect(mostUrgent(rows("a*", "b", "c"))).toBe("b");
    expect(mostUrgent(rows("a*"))).toBeNull();
  });
});
