/** Weeks of the operator's zone: from Monday on. Pure. */
import { midnight } from "../../desk/clock";

/** When the weeks begin that a time touches, the newest first. */
export const weeksOf = (sinceMs: number, untilMs: number): readonly number[] => {
  const day = new Date(midnight(untilMs - 1));
  day.setDate(day.getDate() - ((day.getDay() + 6) % 7));
  const weeks = [day.getTime()];
  while (day.getTime() > sinceMs) {
    day.setDate(day.getDate() - 7);
    weeks.push(day.getTime());
  }
  return weeks;
};
