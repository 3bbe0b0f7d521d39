/** One clock for everything on the page that counts by the second: two places never read differently. */

export interface Ticks {
  /** The time as all of the page reads it. */
  readonly now: () => number;
  readonly subscribe: (listener: () => void) => () => void;
}

/**
 * A time that is not older than this is left as it is: rows that come on screen one by one must not draw all others
 * anew.
 */
const FRESH_MS = 50;

/** Reads `read` each `everyMs` while somebody listens, and when a listener joins. */
export const createTicks = (read: () => number, everyMs = 1_000): Ticks => {
  const listeners = new Set<() => void>();
  let now = read();
  let timer: ReturnType<typeof setInterval> | undefined;
  const isStale = (): boolean => Math.abs(read() - now) >= FRESH_MS;
  const tick = (): void => {
    now = read();
    for (const listener of listeners) listener();
  };
  return {
    now() {
      if (listeners.size === 0 && isStale()) now = read();
      return now;
    },
    subscribe(listener) {
      listeners.add(listener);
      if (listeners.size === 1) timer = setInterval(tick, everyMs);
      if (isStale()) tick();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) clearInterval(timer);
      };
    },
  };
};
