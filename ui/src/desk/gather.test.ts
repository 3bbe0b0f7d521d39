import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { gather } from "./gather";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("reads also while news never cease", async () => {
  const work = vi.fn(() => Promise.resolve());
  const { tell } = gather(work, 400);
  for (let ms = 0; ms < 4_000; ms += 50) {
    tell();
    // oxlint-disable-next-line no-await-in-loop -- one piece of news after the other
    await vi.advanceTimersByTimeAsync(50);
  }
  expect(work.mock.calls.length).toBeGreaterThanOrEqual(8);
});

it("reads once for a burst, and once more for what came while it was read", async () => {
  let end!: () => void;
  const work = vi.fn(
    () =>
      new Promise<void>((done) => {
        end = done;
      }),
  );
  const { tell } = gather(work, 400);
  for (let number = 0; number < 20; number += 1) tell();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(work).toHaveBeenCalledTimes(1);
  tell();
  tell();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(work).toHaveBeenCalledTimes(1);
  end();
  await vi.advanceTimersByTimeAsync(400);
  expect(work).toHaveBeenCalledTimes(2);
  end();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(work).toHaveBeenCalledTimes(2);
});

it("goes on after a reading that failed, and ends when it is stopped", async () => {
  const work = vi.fn(() => Promise.reject(new Error("the bus is gone")));
  const { tell, stop } = gather(work, 400);
  for (const times of [1, 2]) {
    tell();
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await vi.advanceTimersByTimeAsync(400);
    expect(work).toHaveBeenCalledTimes(times);
  }
  tell();
  stop();
  tell();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(work).toHaveBeenCalledTimes(2);
});
