/**
 * Several requests for one answer. Pure. Refuses calls of different tools or agents, and every call whose way
 * asks for more than a key: high, critical, irreversible, denied before, marked by a reader, and those that several
 * operators decide.
 */
import type { InboxRow } from "../../ipc/generated";

/** More than these are not read by anybody. */
export const BATCH_MAX = 50;

type Row = Pick<
  InboxRow,
  "key" | "kind" | "tool" | "workspace" | "agent" | "path" | "risk" | "state" | "votes" | "deniedBefore" | "byReader"
>;

/** Why a row cannot be selected; null when it can. */
export const whyNot = (row: Row): string | null => {
  if (row.state !== "pending") return "It is no longer waiting.";
  if (row.kind !== "tool_call") return "Questions and forms are answered one by one.";
  if (row.deniedBefore) return "A person denied this call before: it is decided alone.";
  if (row.byReader) return "The reader, a machine, marked this call: it is decided alone.";
  if (row.path !== "low" || row.risk === "high" || row.risk === "critical")
    return "High and critical calls are decided one by one.";
  return row.votes === null ? null : "Calls for several operators are decided one by one.";
};

const family = (row: Row): string => JSON.stringify([row.workspace, row.agent, row.tool]);

export type Picked = readonly string[];

export interface Choice {
  readonly picked: Picked;
  /** Why nothing was added. */
  readonly refusal: string | null;
}

const rowOf = (rows: readonly Row[], key: string | undefined): Row | undefined => rows.find((row) => row.key === key);

/** What of a selection can still be answered together, in the order of the list. */
export const kept = (picked: Picked, rows: readonly Row[]): Picked => {
  if (picked.length === 0) return picked;
  const wanted = new Set(picked);
  const there = rows.filter((row) => wanted.has(row.key) && whyNot(row) === null);
  const [first] = there;
  return there.filter((row) => first !== undefined && family(row) === family(first)).map((row) => row.key);
};

const added = (picked: Picked, rows: readonly Row[], row: Row): Choice => {
  const reason = whyNot(row);
  if (reason !== null) return { picked, refusal: reason };
  const first = rowOf(rows, picked[0]);
  if (first !== undefined && family(first) !== family(row))
    return { picked, refusal: "Only calls of the same tool and agent can be selected together." };
  if (picked.length >= BATCH_MAX) return { picked, refusal: `No more than ${BATCH_MAX} at once.` };
  return { picked: kept([...picked, row.key], rows), refusal: null };
};

/** Those that were answered are in no more; what was selected meanwhile is. */
export const without = (choice: Choice, answered: readonly string[]): Choice => ({
  picked: choice.picked.filter((key) => !answered.includes(key)),
  refusal: null,
});

/** X: the row in or out. */
export const toggled = (picked: Picked, rows: readonly Row[], key: string): Choice => {
  const row = rowOf(rows, key);
  if (row === undefined) return { picked, refusal: null };
  return picked.includes(key)
    ? { picked: picked.filter((other) => other !== key), refusal: null }
    : added(picked, rows, row);
};

/** Shift+J, Shift+K: from the row at the cursor to the next one of the same tool and agent, which gets the cursor. */
export const extended = (
  picked: Picked,
  rows: readonly Row[],
  key: string,
  step: 1 | -1,
): Choice & { readonly cursor: string } => {
  const place = rows.findIndex((row) => row.key === key);
  const here = rows[place];
  if (here === undefined) return { picked, refusal: null, cursor: key };
  const start = picked.includes(key) ? { picked, refusal: null } : added(picked, rows, here);
  if (start.refusal !== null) return { ...start, cursor: key };
  const way = step === 1 ? rows.slice(place + 1) : rows.slice(0, place).toReversed();
  const next = way.find((row) => whyNot(row) === null && family(row) === family(here));
  if (next === undefined)
    return { picked: start.picked, refusal: "No more calls of this tool and agent in that direction.", cursor: key };
  if (start.picked.includes(next.key)) return { ...start, cursor: next.key };
  const after = added(start.picked, rows, next);
  return { ...after, cursor: after.refusal === null ? next.key : key };
};
