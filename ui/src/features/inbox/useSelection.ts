import { useCallback, useMemo, useState } from "react";
import { useCommand } from "../../commands/CommandContext";
import type { InboxRow } from "../../ipc/generated";
import type { CursorView } from "./useCursor";
import { extended, kept, toggled, without, type Choice, type Picked } from "./selection";

interface SelectionView {
  /** In the order of the list; rows that left it are not in it any more. */
  readonly picked: Picked;
  /** How many of those that were selected left it. */
  readonly left: number;
  readonly refusal: string | null;
  readonly clear: () => void;
  /** Takes out what was answered, and nothing that was selected meanwhile. */
  readonly drop: (answered: readonly string[]) => void;
}

/** The keys X, Shift+J and Shift+K. */
export const useSelection = (rows: readonly InboxRow[], cursor: CursorView): SelectionView => {
  const [choice, setChoice] = useState<Choice>({ picked: [], refusal: null });
  const picked = useMemo(() => kept(choice.picked, rows), [choice.picked, rows]);
  const { key } = cursor;
  const extend = (step: 1 | -1): void => {
    if (key === null) return;
    const next = extended(picked, rows, key, step);
    setChoice({ picked: next.picked, refusal: next.refusal });
    cursor.set(next.cursor);
  };
  useCommand(
    "select",
    () => {
      if (key !== null) setChoice(toggled(picked, rows, key));
    },
    key !== null,
  );
  useCommand(
    "selectNext",
    () => {
      extend(1);
    },
    key !== null,
  );
  useCommand(
    "selectPrevious",
    () => {
      extend(-1);
    },
    key !== null,
  );
  const clear = useCallback(() => {
    setChoice({ picked: [], refusal: null });
  }, []);
  const drop = useCallback((answered: readonly string[]) => {
    setChoice((before) => without(before, answered));
  }, []);
  return { picked, left: choice.picked.length - picked.length, refusal: choice.refusal, clear, drop };
};
