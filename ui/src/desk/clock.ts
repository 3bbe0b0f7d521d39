/** The server's time on this page: the page's monotonic clock plus the smallest-delay offset seen. */

export interface Clock {
  /** Server time minus the page's monotonic time. */
  readonly offsetMs: number;
  /** Round trip of the sample that gave it; a smaller one is more exact. */
  readonly delayMs: number;
}

export const noClock: Clock = { offsetMs: 0, delayMs: Number.POSITIVE_INFINITY };

/** A sample: the server said `serverMs` somewhere between `sentAt` and `receivedAt`. */
export const sample = (clock: Clock, serverMs: number, sentAt: number, receivedAt: number): Clock => {
  const delayMs = Math.max(receivedAt - sentAt, 0);
  const offsetMs = serverMs - (sentAt + receivedAt) / 2;
  // Clocks drift: an older, more exact sample yields when it is contradicted by more than both errors.
  const contradicted = Math.abs(offsetMs - clock.offsetMs) > (delayMs + clock.delayMs) / 2;
  return delayMs <= clock.delayMs || contradicted ? { offsetMs, delayMs } : clock;
};

export const serverNow = (clock: Clock, pageMs: number): number => pageMs + clock.offsetMs;

const two = (value: number): string => String(value).padStart(2, "0");

/** `0:42`, `14:20`, `3:05:00`, `2 d 4 h`. Rounded down: time that may be gone is never shown. */
export const formatLeft = (leftMs: number): string => {
  const seconds = Math.max(Math.floor(leftMs / 1_000), 0);
  const hours = Math.floor(seconds / 3_600);
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  const minutes = Math.floor(seconds / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
};

/** A minute or less is urgent. */
export const isHot = (leftMs: number): boolean => leftMs < 60_000;

/** `18 s ago`, `4 min ago`. */
export const formatAgo = (agoMs: number): string => {
  const seconds = Math.max(Math.floor(agoMs / 1_000), 0);
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
};

/** `50 minutes`, `1 hour`. */
export const formatFor = (ms: number): string => {
  const seconds = Math.max(Math.floor(ms / 1_000), 0);
  const [count, unit] =
    seconds < 60
      ? [seconds, "second"]
      : seconds < 3_600
        ? [Math.floor(seconds / 60), "minute"]
        : seconds < 86_400
          ? [Math.floor(seconds / 3_600), "hour"]
          : [Math.floor(seconds / 86_400), "day"];
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
};

/** Wall-clock time of the operator's zone, 24 hours; alone only for what is of today. */
export const formatTime = (ms: number, exact = false): string => {
  const date = new Date(ms);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return exact ? `${time}.${String(date.getMilliseconds()).padStart(3, "0")}` : time;
};

/** The last midnight of the operator's zone. */
export const midnight = (ms: number): number => new Date(ms).setHours(0, 0, 0, 0);

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A day of the operator's zone: `3 Nov`, in another year than now `3 Nov 2025`. */
export const formatDay = (ms: number, nowMs: number): string => {
  const date = new Date(ms);
  const year = date.getFullYear() === new Date(nowMs).getFullYear() ? "" : ` ${date.getFullYear()}`;
  return `${date.getDate()} ${MONTHS[date.getMonth()] ?? ""}${year}`;
};

/** When something was or will be: `14:20:07`, on another day than today `3 Nov, 14:20:07`. */
export const formatMoment = (ms: number, nowMs: number, exact = false): string => {
  const time = formatTime(ms, exact);
  return midnight(ms) === midnight(nowMs) ? time : `${formatDay(ms, nowMs)}, ${time}`;
};
