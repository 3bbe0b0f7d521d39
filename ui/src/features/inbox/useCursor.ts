import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { InboxRow } from "../../ipc/generated";
import { afterDecision, moved, placeOf } from "./cursor";

export interface CursorView {
  readonly key: string | null;
  readonly set: (key: string | null) => void;
  readonly move: (step: 1 | -1) => void;
  /** Onward from cards that were answered; whoever has gone on alone stays. */
  readonly toNextAfter: (...answered: readonly string[]) => void;
  /** Its place now, for work whose answer came late. */
  readonly now: () => string | null;
}

/**
 * The cursor of the list. It takes the first card when there was none, or the operator has answered the last one, and
 * moves by the operator alone. `isFree` says whether nothing is open or typed on the card.
 */
export const useCursor = (
  rows: readonly InboxRow[],
  start: string | null = null,
  isFree: () => boolean = () => true,
): CursorView => {
  const [key, put] = useState<string | null>(start);
  // What was answered while nothing else waited.
  const answeredLast = useRef<readonly string[]>([]);
  const set = useCallback((next: string | null) => {
    answeredLast.current = [];
    put(next);
  }, []);
  const latest = useRef({ rows, key, place: 0, before: rows });
  useLayoutEffect(() => {
    const place = placeOf(rows, key);
    latest.current = place >= 0 ? { rows, key, place, before: rows } : { ...latest.current, rows, key };
  }, [rows, key]);

  const [first] = rows;
  useEffect(() => {
    if (key === null && first !== undefined) set(first.key);
    if (key === null || !answeredLast.current.includes(key) || !isFree()) return;
    const next = afterDecision(rows, key, answeredLast.current);
    if (next !== key) set(next);
  }, [key, first, isFree, rows, set]);

  const move = useCallback(
    (step: 1 | -1) => {
      const now = latest.current;
      set(moved(now.rows, now.key, step, now.place));
    },
    [set],
  );
  const toNextAfter = useCallback(
    (...answered: readonly string[]) => {
      const { rows: there, key: at, before } = latest.current;
      if (at === null || !answered.includes(at)) return;
      const next = afterDecision(there, at, answered, before);
      set(next);
      if (next === at) answeredLast.current = answered;
    },
    [set],
  );
  const now = useCallback(() => latest.current.key, []);
  return { key, set, move, toNextAfter, now };
};
