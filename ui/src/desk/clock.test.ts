import { describe, expect, it } from "vitest";
import { formatAgo, formatLeft, isHot, noClock, sample, serverNow } from "./clock";

describe("time left", () => {
  it.each([
    [42_999, "0:42"], [60_000, "1:00"], [860_000, "14:20"], [11_100_000, "3:05:00"], [187_200_000, "2 d 4 h"],
    [999, "0:00"], [0, "0:00"], [-5_000, "0:00"],
  ])("%i ms reads %s", (ms, text) => {
    expect(formatLeft(ms)).toBe(text);
  });

  it("is urgent below a minute", () => {
    expect([isHot(60_000), isHot(59_999)]).toEqual([false, true]);
  });

  it.each([[18_400, "18 s ago"], [240_000, "4 min ago"], [7_200_000, "2 h ago"], [-10, "0 s ago"]])("ago: %i", (ms, text) => {
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
