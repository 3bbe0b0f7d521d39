import { describe, expect, it } from "vitest";
import { formatAgo, formatDay, formatLeft, formatMoment, isHot, noClock, sample, serverNow } from "./clock";

describe("time left", () => {
  it.each([
    [42_999, "0:42"],
    [60_000, "1:00"],
    [860_000, "14:20"],
    [11_100_000, "3:05:00"],
    [187_200_000, "2 d 4 h"],
    [999, "0:00"],
    [0, "0:00"],
    [-5_000, "0:00"],
  ])("%i ms reads %s", (ms, text) => {
    expect(formatLeft(ms)).toBe(text);
  });

  it("is urgent below a minute", () => {
    expect([isHot(60_000), isHot(59_999)]).toEqual([false, true]);
  });

  it.each([
    [18_400, "18 s ago"],
    [240_000, "4 min ago"],
    [7_200_000, "2 h ago"],
    [-10, "0 s ago"],
  ])("ago: %i", (ms, text) => {
    expect(formatAgo(ms)).toBe(text);
  });
});

describe("the server's time", () => {
  it("does not depend on the operator's clock, only on the page's monotonic one", () => {
    const clock = sample(noClock, 1_000_000, 100, 110);
    expect(serverNow(clock, 105)).toBe(1_000_000);
    expect(serverNow(clock, 1_105)).toBe(1_001_000);
  });

  it("keeps the sample with the smaller delay", () => {
    const exact = sample(noClock, 1_000_000, 100, 102);
    expect(sample(exact, 1_000_200, 200, 400)).toBe(exact);
    expect(sample(exact, 1_000_100, 201, 202).delayMs).toBe(1);
  });

  it("follows a server clock that was set", () => {
    const exact = sample(noClock, 1_000_000, 100, 102);
    expect(serverNow(sample(exact, 2_000_000, 200, 300), 250)).toBe(2_000_000);
  });
});

describe("when something was", () => {
  const now = new Date(2026, 10, 23, 12, 0, 0).getTime();
  it.each<[string, number[], string]>([
    ["today", [2026, 10, 23, 0, 0, 0], "00:00:00"],
    ["later today", [2026, 10, 23, 23, 59, 59], "23:59:59"],
    ["the evening before", [2026, 10, 22, 23, 59, 59], "22 Nov, 23:59:59"],
    ["the next morning", [2026, 10, 24, 0, 0, 0], "24 Nov, 00:00:00"],
    ["the same day a year ago", [2025, 10, 23, 12, 0, 0], "23 Nov 2025, 12:00:00"],
    ["the first of this year", [2026, 0, 1, 0, 0, 0], "1 Jan, 00:00:00"],
    ["a moment before it", [2025, 11, 31, 23, 59, 59], "31 Dec 2025, 23:59:59"],
    ["next year", [2027, 0, 1, 8, 5, 9], "1 Jan 2027, 08:05:09"],
  ])(
    "%s it names the day where it is not today, and the year where it is not this one",
    (_, [year = 0, ...rest], words) => {
      const ms = new Date(year, ...(rest as [number, number, number, number, number])).getTime();
      expect([formatMoment(ms, now), formatMoment(ms + 7, now, true)]).toEqual([words, `${words}.007`]);
      expect(words.startsWith(formatDay(ms, now))).toBe(words.includes(","));
    },
  );
});
