import { useEffect, useState } from "react";

interface Chosen<T> {
  /** What is under the cursor: what was chosen, before that the first. */
  readonly row: T | undefined;
  readonly place: number;
  readonly choose: (key: string) => void;
  /** The row so many places on. */
  readonly at: (step: 1 | -1) => T | undefined;
}

/**
 * The cursor of a list, by the key of its row: whoever comes meanwhile takes nobody's place, also before anything was
 * chosen.
 */
export const useChosen = <T extends { readonly key: string }>(
  rows: readonly T[],
  start: string | null = null,
): Chosen<T> => {
  const [chosen, setChosen] = useState(start);
  const place = Math.max(
    rows.findIndex((row) => row.key === chosen),
    0,
  );
  const seen = rows[place]?.key ?? null;
  useEffect(() => {
    if (seen !== null) setChosen(seen);
  }, [seen]);
  return {
    row: rows[place],
    place,
    choose: setChosen,
    at: (step) => rows[Math.min(Math.max(place + step, 0), rows.length - 1)],
  };
};
