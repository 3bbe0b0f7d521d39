/**
 * The agent's own timer, which counts while the machine sleeps and never goes backwards; and time stamps as they are
 * written.
 */
import { performance } from "node:perf_hooks";
import { uptime } from "node:os";

const RFC3339 =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))$/;
const STEP = 0.5;
const DAY = 86_400_000;
const YEAR_1 = Date.parse("0001-01-01T00:00:00Z");
const YEAR_10000 = YEAR_1 + 3_652_059 * DAY;

/** Seconds that the system's uptime is ahead of this process's timer, which stops while the machine sleeps. */
let ahead = uptime() - performance.now() / 1000;

/** Seconds of a clock that only differences of are used, inside one process. */
export function ticks(): number {
  const running = performance.now() / 1000;
  const found = uptime() - running;
  // The uptime has hundredths at best: only a jump forward is a sleep.
  if (found - ahead > STEP) ahead = found;
  return running + ahead;
}

/** The protocol's spelling: RFC 3339 in UTC with milliseconds. */
export function rfc3339(moment: number): string {
  return new Date(moment).toISOString();
}

/**
 * A time stamp of the server or of a payload, as milliseconds since 1970; null where it is none. As RFC 3339 writes
 * them, of the years 1 to 9999 in UTC. A leap second, which can only end a month in UTC, reads as the last moment before
 * it ends.
 */
export function parseRfc3339(text: unknown): number | null {
  const found = typeof text === "string" ? RFC3339.exec(text) : null;
  if (found === null) return null;
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [hours, minutes] = [Number(found[9] ?? 0), Number(found[10] ?? 0)];
  const leap = second === 60;
  if (year < 1 || hour > 23 || minute > 59 || second > 60 || hours > 23 || minutes > 59) return null;
  const midnight = new Date(0);
  midnight.setUTCFullYear(year, month - 1, day);
  if (midnight.getUTCMonth() !== month - 1 || midnight.getUTCDate() !== day) return null;
  const millis = leap ? 999 : Number((found[7] ?? "").slice(0, 3).padEnd(3, "0"));
  const local = midnight.getTime() + ((hour * 60 + minute) * 60 + (leap ? 59 : second)) * 1000 + millis;
  const moment = local + (found[8] === "-" ? 1 : -1) * (hours * 60 + minutes) * 60_000;
  if (moment < YEAR_1 || moment >= YEAR_10000) return null;
  const next = new Date(moment + 1);
  if (leap && (next.getUTCDate() !== 1 || next.getTime() % DAY !== 0)) return null;
  return moment;
}

/** Ends after so many seconds, however many, or once `signal` is aborted. Never throws. */
export async function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  const until = ticks() + seconds;
  for (;;) {
    const left = until - ticks();
    if (left <= 0 || signal?.aborted === true) return;
    await nap(left, signal);
  }
}

function nap(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", over);
      resolve();
    };
    // A timer of Node ends at once beyond 2^31 ms.
    const timer = setTimeout(over, Math.min(Math.ceil(seconds * 1000), 2 ** 30));
    signal?.addEventListener("abort", over);
  });
}

/** Ends once the promise has, whatever its end, or after so many seconds. */
export async function ended(seconds: number, promise: Promise<unknown>): Promise<void> {
  await within(
    seconds,
    promise.catch(() => undefined),
  );
}

/** What the promise comes to, or undefined after so many seconds. Throws what the promise throws until then. */
export async function within<T>(seconds: number, promise: Promise<T>): Promise<T | void> {
  const done = new AbortController();
  try {
    return await Promise.race([promise, sleep(seconds, done.signal)]);
  } finally {
    done.abort();
  }
}
