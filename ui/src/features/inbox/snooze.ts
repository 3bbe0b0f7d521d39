/** Cards that a person put off. Pure. Refuses to hide one beyond the minute before its deadline. */
import type { InboxRow } from "../../ipc/generated";

/** Until when each card is put off, server time, by its key. */
export type Snoozes = Readonly<Record<string, number>>;

/** A card is back at least this long before its deadline. */
export const BACK_MS = 60_000;

interface SnoozeChoice {
  readonly label: string;
  readonly untilMs: number;
}

const TIMES = [
  ["5 minutes", 300_000],
  ["15 minutes", 900_000],
  ["1 hour", 3_600_000],
  ["4 hours", 14_400_000],
] as const;

type Due = Pick<InboxRow, "deadlineMs" | "hasDeadline">;

/** The times that end before the card must be back, and that moment itself; none where it is too close. */
export const choicesOf = (card: Due, nowMs: number): readonly SnoozeChoice[] => {
  const latest = card.deadlineMs - BACK_MS;
  if (latest <= nowMs) return [];
  const times = TIMES.map(([label, ms]): SnoozeChoice => ({ label, untilMs: nowMs + ms })).filter(
    (choice) => choice.untilMs < latest,
  );
  return card.hasDeadline ? [...times, { label: "until a minute before its deadline", untilMs: latest }] : times;
};

/** When a row that is put off comes back; null for one that is not. A deadline that came closer counts. */
export const backAt = (
  row: Pick<InboxRow, "key" | "deadlineMs" | "state">,
  snoozes: Snoozes,
  nowMs: number,
): number | null => {
  const until = snoozes[row.key];
  if (until === undefined || row.state !== "pending") return null;
  const back = Math.min(until, row.deadlineMs - BACK_MS);
  return back > nowMs ? back : null;
};

/** What is over is forgotten, whether its card is still there or not. */
export const pruned = (snoozes: Snoozes, nowMs: number): Snoozes =>
  Object.fromEntries(Object.entries(snoozes).filter(([, until]) => until > nowMs));

/** What this window kept; anything that it cannot read is nothing. */
export const readSnoozes = (text: string | null): Snoozes => {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    if (typeof value !== "object" || value === null) return {};
    return Object.fromEntries(
      Object.entries(value).filter((entry): entry is [string, number] => typeof entry[1] === "number"),
    );
  } catch {
    return {};
  }
};
