/** News come one by one, and what they change is read in one go. */

interface Gathered {
  /** Something happened. */
  readonly tell: () => void;
  /** Nothing is read any more. */
  readonly stop: () => void;
}

/**
 * Runs `work` so long after news, and once more for news while it ran. Further news never put it off: where they do
 * not cease nothing would ever be read.
 */
export const gather = (work: () => Promise<unknown>, afterMs: number): Gathered => {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let running = false;
  let again = false;
  let stopped = false;
  const ended = (): void => {
    running = false;
    if (again) tell();
  };
  const run = (): void => {
    timer = null;
    running = true;
    again = false;
    void work().then(ended, ended);
  };
  const tell = (): void => {
    if (running) again = true;
    else if (timer === null && !stopped) timer = setTimeout(run, afterMs);
  };
  return {
    tell,
    stop: () => {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
};
