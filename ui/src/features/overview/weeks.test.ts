import { expect, it } from "vitest";
import { weeksOf } from "./weeks";

// Months from 0: the 26th of November 2026 is a Thursday.
const at = (day: number, hour = 12): number => new Date(2026, 10, day, hour).getTime();

it.each([
  ["an hour is in one week", at(26, 11), at(26), [23]],
  ["an hour around the midnight before Monday is in two", at(22, 23), at(23, 1), [23, 16]],
  ["what ends with a Sunday does not touch the week behind it", at(22, 1), at(23, 0), [16]],
  ["what begins with a Monday does not touch the week before", at(16, 0), at(26), [23, 16]],
  ["seven days touch two", at(19), at(26), [23, 16]],
])("%s", (_, sinceMs, untilMs, days) => {
  expect(weeksOf(sinceMs, untilMs)).toEqual(days.map((day) => at(day, 0)));
});

it("each begins at midnight of a Monday, also where clocks change", () => {
  const weeks = weeksOf(at(26) - 2_160 * 3_600_000, at(26)).map((ms) => new Date(ms));
  expect(weeks.length).toBe(14);
  expect(new Set(weeks.map((week) => `${week.getDay()} ${week.getHours()}`))).toEqual(new Set(["1 0"]));
});
