import { expect, it } from "vitest";
import { atOnce } from "./atOnce";

const tick = (): Promise<void> =>
  new Promise((done) => {
    setTimeout(done, 0);
  });

it.each([
  [1, 5],
  [3, 5],
  [8, 5],
  [8, 40],
  [2, 0],
])("with a width of %i, %i items are begun once each, in their order, and never more at once", async (width, count) => {
  const items = Array.from({ length: count }, (_, place) => place);
  const begun: number[] = [];
  let [now, most] = [0, 0];
  const reported = await atOnce(items, width, async (item) => {
    begun.push(item);
    most = Math.max(most, (now += 1));
    await tick();
    now -= 1;
  });
  expect([begun, most, reported]).toEqual([items, Math.min(width, count), count]);
});

it("what was not begun when it is stopped is not begun, and what was is waited for", async () => {
  const ended: number[] = [];
  let stopped = false;
  const reported = await atOnce(
    [1, 2, 3, 4, 5, 6],
    2,
    async (item) => {
      if (item === 3) stopped = true;
      await tick();
      ended.push(item);
    },
    () => stopped,
  );
  expect([ended, reported]).toEqual([[1, 2, 3], 3]);
});
