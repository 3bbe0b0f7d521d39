/** Waits for conditions, never for times. */

/** So many seconds are left to a busy machine where something has to end on its own. */
export const SOON = 120;

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Ends when `holds` returns something true, which it returns. */
export async function until<T>(
  holds: () => T | Promise<T>,
  seconds = SOON,
): Promise<Exclude<T, false | null | undefined | 0 | "">> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = await holds();
    if (found) return found as Exclude<T, false | null | undefined | 0 | "">;
    if (Date.now() > end) throw new Error(`not within ${seconds} s: ${holds.toString()}`);
    await pause(5);
  }
}
