import { formatDay, formatTime } from "../../desk/clock";

/** When something was set, by the console of who set it. */
export const stamp = (ms: number | null): string => (ms === null ? "at an unknown time" : `${formatDay(ms)}, ${formatTime(ms)}`);
