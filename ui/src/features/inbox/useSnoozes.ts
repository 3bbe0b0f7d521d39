import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useDesk } from "../../desk/DeskContext";
import { createNews } from "../../desk/news";
import type { InboxRow } from "../../ipc/generated";
import { backAt, pruned, readSnoozes, type Snoozes } from "./snooze";

const PLACE = "countersign.snoozes";

/** What is put off, for all of the page: the list and the count in the navigation agree. */
const changes = createNews();
let kept: { readonly text: string | null; readonly snoozes: Snoozes } | undefined;
const read = (): Snoozes => {
  const text = localStorage.getItem(PLACE);
  if (kept === undefined || kept.text !== text) kept = { text, snoozes: readSnoozes(text) };
  return kept.snoozes;
};
const write = (snoozes: Snoozes): void => {
  localStorage.setItem(PLACE, JSON.stringify(snoozes));
  changes.tell();
};

export interface Snoozed {
  readonly row: InboxRow;
  readonly backMs: number;
}

interface SnoozesView {
  /** What waits and is not put off. */
  readonly awake: readonly InboxRow[];
  /** What is put off, the one that is back first before the others. */
  readonly snoozed: readonly Snoozed[];
  readonly snooze: (key: string, untilMs: number) => void;
  readonly wake: (key: string) => void;
}

/** Which cards are put off in this window. Others of the realm see them as ever. */
export const useSnoozes = (rows: readonly InboxRow[]): SnoozesView => {
  const desk = useDesk();
  const snoozes = useSyncExternalStore(changes.subscribe, read);
  const [tick, setTick] = useState(0);
  const { awake, snoozed } = useMemo(() => {
    const now = desk.now();
    if (Object.keys(snoozes).length === 0) return { awake: rows, snoozed: [] };
    const off = rows
      .map((row) => ({ row, backMs: backAt(row, snoozes, now) }))
      .filter((entry): entry is Snoozed => entry.backMs !== null);
    if (off.length === 0) return { awake: rows, snoozed: [] };
    const keys = new Set(off.map((entry) => entry.row.key));
    return { awake: rows.filter((row) => !keys.has(row.key)), snoozed: off.toSorted((a, b) => a.backMs - b.backMs) };
    // A card comes back with time: `tick` looks again.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [desk, rows, snoozes, tick]);

  const next = snoozed[0]?.backMs;
  useEffect(() => {
    if (next === undefined) return undefined;
    const timer = setTimeout(
      () => {
        setTick((before) => before + 1);
      },
      Math.min(Math.max(next - desk.now(), 250), 60_000),
    );
    return () => {
      clearTimeout(timer);
    };
  }, [desk, next, tick]);

  const keep = useCallback(
    (change: (before: Snoozes) => Snoozes) => {
      write(change(pruned(read(), desk.now())));
    },
    [desk],
  );
  const snooze = useCallback(
    (key: string, untilMs: number) => {
      keep((before) => ({ ...before, [key]: untilMs }));
    },
    [keep],
  );
  const wake = useCallback(
    (key: string) => {
      keep((before) => Object.fromEntries(Object.entries(before).filter(([other]) => other !== key)));
    },
    [keep],
  );
  return { awake, snoozed, snooze, wake };
};
