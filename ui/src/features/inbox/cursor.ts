/** The cursor of the list is an identity, resolved against what the list shows now. */
import type { InboxRow } from "../../ipc/generated";

type Rows = readonly Pick<InboxRow, "key" | "state">[];

/** The place of the cursor, or -1 when its card is not in the list any more. */
export const placeOf = (rows: Rows, key: string | null): number =>
  key === null ? -1 : rows.findIndex((row) => row.key === key);

/**
 * The key `step` places on. From a card that left the list, `lastPlace` says where it was, so that the next one is
 * the one that took its place.
 */
export const moved = (rows: Rows, key: string | null, step: 1 | -1, lastPlace: number): string | null => {
  if (rows.length === 0) return key;
  const place = placeOf(rows, key);
  const target = place >= 0 ? place + step : step === 1 ? lastPlace : lastPlace - 1;
  return rows[Math.min(Math.max(target, 0), rows.length - 1)]?.key ?? key;
};

/** The most urgent card that still waits for a person. */
export const mostUrgent = (rows: Rows): string | null => rows.find((row) => row.state === "pending")?.key ?? null;

/**
 * After a decision on `answered`: from `key` the next waiting card by deadline, else the first one, else the same. A
 * card that has left the list is followed by what came after it in `stood`, the list in which it was last.
 */
export const afterDecision = (
  rows: Rows,
  key: string,
  answered: readonly string[] = [key],
  before: Rows = rows,
): string => {
  // The list may not know yet that they are answered.
  const waiting = rows.filter((row) => row.state === "pending" && !answered.includes(row.key));
  const order = placeOf(rows, key) >= 0 ? rows : before;
  const keys = new Set(waiting.map((row) => row.key));
  const next = order.slice(placeOf(order, key) + 1).find((row) => keys.has(row.key));
  return (next ?? waiting[0])?.key ?? key;
};
