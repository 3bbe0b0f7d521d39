import { describe, expect, it } from "vitest";
import { movedBy, slotsFor } from "./virtualRows";

describe("elements of rows", () => {
  it("are enough for every place, and each row on screen has one of its own that it keeps", () => {
    for (const [height, rowPx, overscan] of [
      [0, 28, 6],
      [1, 28, 6],
      [588, 28, 6],
      [589, 28, 6],
      [900, 44, 8],
      [333, 40, 0],
    ] as const) {
      // The most that can be drawn: a part of a row at both ends.
      const most = Math.ceil(height / rowPx) + 1 + 2 * overscan;
      const slots = slotsFor(height, rowPx, overscan, most);
      expect(slots).toBe(slotsFor(height, rowPx, overscan, 3));
      for (let first = 0; first < 200; first += 7) {
        const drawn = Array.from({ length: most }, (_, number) => (first + number) % slots);
        expect(new Set(drawn).size).toBe(most);
      }
    }
  });

  it("are never fewer than what is drawn", () => {
    expect(slotsFor(0, 28, 0, 40)).toBe(40);
    expect(slotsFor(0, 28, 0, 0)).toBe(1);
  });
});

const named = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, number) => `r${from + number}`);

describe("a list under its reader", () => {
  const before = named(0, 40);
  it.each<[string, string[], number]>([
    ["nothing changes", before, 0],
    ["rows come above what is on screen", ["x", "y", ...before], 2],
    ["rows come below it", [...before, "x"], 0],
    ["rows above it go", named(3, 40), -3],
    [
      "the chosen row goes to the top alone, as one that was written to last",
      ["r12", ...before.filter((key) => key !== "r12")],
      0,
    ],
    ["another row goes to the top", ["r15", ...before.filter((key) => key !== "r15")], 1],
    [
      "rows come between those on screen, and the chosen one is below them",
      [...named(0, 11), "x", ...named(11, 40)],
      1,
    ],
    [
      "rows come between those on screen, and the chosen one is above them",
      [...named(0, 14), "x", ...named(14, 40)],
      0,
    ],
    ["nothing of it is left", named(50, 90), 0],
  ])("is held where %s", (_, after, by) => {
    expect(movedBy(before, after, 10, 20, "r12")).toBe(by);
  });

  it("is held by what is on screen where the chosen row is not", () => {
    expect(movedBy(before, ["r0", "x", ...named(1, 40)], 10, 20, "r0")).toBe(1);
    expect(movedBy(before, ["x", ...before], 10, 20, null)).toBe(1);
  });

  it("keeps its only common row in its place", () => {
    expect(movedBy(["a", "b", "c"], ["x", "y", "b"], 0, 2, "b")).toBe(1);
    expect(movedBy([], ["a"], 0, 10, null)).toBe(0);
  });
});
