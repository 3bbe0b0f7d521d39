import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createTicks } from "./ticks";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("a listener that joins later reads the same time as those before it, and all move on together", () => {
  let time = 0;
  const ticks = createTicks(() => time);
  const seen: number[][] = [[], []];
  const first = ticks.subscribe(() => seen[0]?.push(ticks.now()));
  time = 640;
  const second = ticks.subscribe(() => seen[1]?.push(ticks.now()));
  expect([ticks.now(), seen]).toEqual([640, [[640], [640]]]);
  time = 1_000;
  vi.advanceTimersByTime(1_000);
  expect(seen).toEqual([
    [640, 1_000],
    [640, 1_000],
  ]);
  first();
  second();
  time = 9_000;
  vi.advanceTimersByTime(9_000);
  expect([ticks.now(), seen]).toEqual([
    9_000,
    [
      [640, 1_000],
      [640, 1_000],
    ],
  ]);
});

it("rows that come on screen one after the other do not draw the others anew", () => {
  let time = 0;
  const ticks = createTicks(() => time);
  const drawn = vi.fn();
  ticks.subscribe(drawn);
  for (time = 1; time < 30; time += 1) ticks.subscribe(() => undefined);
  expect(drawn).not.toHaveBeenCalled();
});
