/**
 * Works on all of `items` in their order, `width` of them at once, until `stopped` says so. Gives how many were begun.
 */
export const atOnce = async <T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<unknown>,
  stopped: () => boolean = () => false,
): Promise<number> => {
  let begun = 0;
  const one = async (): Promise<void> => {
    while (!stopped()) {
      const item = items[begun];
      if (item === undefined) return;
      begun += 1;
      // Each of them goes on with the next one that nobody has begun.
      // oxlint-disable-next-line no-await-in-loop
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: width }, one));
  return begun;
};
