import { describe, expect, it } from "vitest";
import { around, formatDuration, formatPace, panned, placed, ticks, whole, zoomed } from "./scale";

describe("the window of a time line", () => {
  it("keeps what lies under the pointer where it is, and never leaves the trace", () => {
    const closer = zoomed({ from: 0, to: 1_000 }, 2, 250, 1_000);
    expect(closer).toEqual({ from: 125, to: 625 });
    expect(zoomed(closer, 1 / 100, 250, 1_000)).toEqual({ from: 0, to: 1_000 });
    expect(zoomed({ from: 0, to: 1_000 }, 1e6, 0, 1_000)).toEqual({ from: 0, to: 10 });
    expect(panned({ from: 900, to: 1_000 }, 5, 1_000)).toEqual({ from: 900, to: 1_000 });
    expect(panned({ from: 0, to: 100 }, -1, 1_000)).toEqual({ from: 0, to: 100 });
    expect(whole(0)).toEqual({ from: 0, to: 1 });
    expect(zoomed(whole(0), 2, 0, 0)).toEqual({ from: 0, to: 1 });
  });

  it("shows one span with room on both sides", () => {
    expect(around(400, 500, 1_000)).toEqual({ from: 390, to: 510 });
    expect(around(0, 1_000, 1_000)).toEqual({ from: 0, to: 1_000 });
  });
});

describe("a bar", () => {
  it("is clipped at both edges and not drawn beyond them", () => {
    const view = { from: 100, to: 200 };
    expect(placed(100, 150, view)).toEqual({ left: 0, width: 50 });
    expect(placed(0, 400, view)).toEqual({ left: 0, width: 100 });
    expect(placed(150, 150, view)).toEqual({ left: 50, width: 0 });
    expect(placed(0, 50, view)).toBeNull();
    expect(placed(250, 300, view)).toBeNull();
  });

  it("that ends before it starts is drawn as no time", () => {
    expect(placed(150, 120, { from: 100, to: 200 })).toEqual({ left: 50, width: 0 });
  });
});

describe("the axis", () => {
  it("has a few round times, however long the trace is", () => {
    for (const length of [1, 9, 48_200, 3_600_000, 9e9]) {
      const found = ticks({ from: 0, to: length });
      expect(found.length).toBeGreaterThan(0);
      expect(found.length).toBeLessThanOrEqual(8);
    }
    expect(ticks({ from: 0, to: 48_000 })).toEqual([0, 10_000, 20_000, 30_000, 40_000]);
    expect(ticks({ from: 11_000, to: 16_000 })).toEqual([11_000, 12_000, 13_000, 14_000, 15_000, 16_000]);
  });
});

it("what people took reads without tenths from ten seconds on", () => {
  const table: [number, string][] = [
    [3_640, "3.6 s"],
    [9_999, "9.9 s"],
    [10_000, "10 s"],
    [59_999, "59 s"],
    [60_000, "1 min 0 s"],
  ];
  for (const [ms, words] of table) expect(formatPace(ms)).toBe(words);
});

it("durations read as a person says them", () => {
  const table: [number, string][] = [
    [0, "0 ms"],
    [182, "182 ms"],
    [4_321, "4.3 s"],
    [59_999, "59.9 s"],
    [125_000, "2 min 5 s"],
    [10_920_000, "3 h 2 min"],
    [-5, "0 ms"],
  ];
  for (const [ms, words] of table) expect(formatDuration(ms)).toBe(words);
});
