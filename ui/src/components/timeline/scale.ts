/** What part of a trace the time line shows. Times are milliseconds after the trace's start. Pure. */

export interface TimeWindow {
  readonly from: number;
  readonly to: number;
}

/** No closer than this: agents' clocks count milliseconds. */
const CLOSEST_MS = 10;

/** The whole of it; what took no time is drawn as one millisecond. */
export const whole = (durationMs: number): TimeWindow => ({ from: 0, to: Math.max(durationMs, 1) });

const within = (from: number, length: number, durationMs: number): TimeWindow => {
  const all = whole(durationMs).to;
  const span = Math.min(Math.max(length, Math.min(CLOSEST_MS, all)), all);
  const start = Math.min(Math.max(from, 0), all - span);
  return { from: start, to: start + span };
};

/** Closer (`factor` above 1) or farther; what lies under `at` stays where it is. */
export const zoomed = (view: TimeWindow, factor: number, at: number, durationMs: number): TimeWindow => {
  const length = view.to - view.from;
  const place = length === 0 ? 0.5 : Math.min(Math.max((at - view.from) / length, 0), 1);
  const next = within(0, length / factor, durationMs);
  return within(at - place * (next.to - next.from), next.to - next.from, durationMs);
};

/** A part of its own length earlier (negative) or later. */
export const panned = (view: TimeWindow, part: number, durationMs: number): TimeWindow =>
  within(view.from + part * (view.to - view.from), view.to - view.from, durationMs);

/** Just what lies between two times, with a little room. */
export const around = (start: number, end: number, durationMs: number): TimeWindow => {
  const room = Math.max((end - start) * 0.1, CLOSEST_MS / 2);
  return within(start - room, end - start + 2 * room, durationMs);
};

/** Where something is drawn, in hundredths of the width; null when it lies outside. */
export const placed = (
  start: number,
  end: number,
  view: TimeWindow,
): { readonly left: number; readonly width: number } | null => {
  const length = view.to - view.from;
  const left = Math.max((start - view.from) / length, 0);
  const right = Math.min((Math.max(end, start) - view.from) / length, 1);
  if (right < 0 || left > 1 || right < left) return null;
  return { left: left * 100, width: (right - left) * 100 };
};

const STEPS = [1, 2, 5];

/** Round times for the axis, at most `count` of them. */
export const ticks = (view: TimeWindow, count = 6): readonly number[] => {
  const length = view.to - view.from;
  let step = 1;
  for (let power = 0; length / step > count; power += 1) {
    step = (STEPS[power % STEPS.length] ?? 1) * 10 ** Math.floor(power / STEPS.length);
  }
  const first = Math.ceil(view.from / step) * step;
  return Array.from({ length: Math.floor((view.to - first) / step) + 1 }, (_, index) => first + index * step);
};

const HOUR = 3_600_000;

/** `182 ms`, `4.3 s`, `2 min 5 s`, `3 h 2 min`. */
export const formatDuration = (ms: number): string => {
  const value = Math.max(ms, 0);
  if (value < 1_000) return `${Math.round(value)} ms`;
  if (value < 60_000) return `${(Math.floor(value / 100) / 10).toFixed(1)} s`;
  if (value < HOUR) return `${Math.floor(value / 60_000)} min ${Math.floor((value % 60_000) / 1_000)} s`;
  return `${Math.floor(value / HOUR)} h ${Math.floor((value % HOUR) / 60_000)} min`;
};

/** How long people took: from 10 s on to the second. */
export const formatPace = (ms: number): string =>
  ms >= 10_000 && ms < 60_000 ? `${Math.floor(ms / 1_000)} s` : formatDuration(ms);

/** A time on an axis: as exact as the step between two of them needs. */
export const formatTick = (ms: number, view: TimeWindow): string => {
  const length = view.to - view.from;
  if (length < 1_000) return `${ms} ms`;
  if (length < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (length < 600_000) return `${Math.round(ms / 1_000)} s`;
  return `${Math.round(ms / 60_000)} min`;
};
