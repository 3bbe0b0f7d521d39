/**
 * The list of waiting requests as pure state: a snapshot, then numbered batches. Refuses to apply a
 * batch out of order; a gap asks for a new snapshot instead.
 */
import type { InboxBatch, InboxFirst, InboxRow, InboxSnapshot } from "../ipc/generated";

export interface InboxState {
  /** Number of the last batch that is contained; null before the first snapshot. */
  readonly number: number | null;
  /** By deadline, then arrival, then key. */
  readonly rows: readonly InboxRow[];
  /** Batches that came before the snapshot that will contain or precede them. */
  readonly early: readonly InboxBatch[];
}

export const emptyInbox: InboxState = { number: null, rows: [], early: [] };

/** No more than this many batches are kept while a snapshot is read; more ask for another one. */
const EARLY_LIMIT = 1_000;

const compareRows = (a: InboxRow, b: InboxRow): number =>
  a.deadlineMs - b.deadlineMs || a.seq - b.seq || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

const insertAt = (rows: readonly InboxRow[], row: InboxRow): number => {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const there = rows[middle];
    if (there !== undefined && compareRows(there, row) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
};

const applyChanges = (rows: readonly InboxRow[], batch: InboxBatch): readonly InboxRow[] => {
  if (batch.changes.length === 0) return rows;
  // The last word on a key counts; everything else keeps its identity for React.
  const last = new Map<string, InboxRow | null>();
  for (const change of batch.changes) {
    if (change.type === "put") last.set(change.row.key, change.row);
    else last.set(change.key, null);
  }
  const kept = rows.filter((row) => !last.has(row.key));
  const fresh = [...last.values()].filter((row) => row !== null);
  if (fresh.length > 64) return [...kept, ...fresh].toSorted(compareRows);
  for (const row of fresh) kept.splice(insertAt(kept, row), 0, row);
  return kept;
};

/** What is shown until the first snapshot is here. */
export const applyFirst = (state: InboxState, { rows }: InboxFirst): InboxState =>
  state.number === null ? { ...state, rows: rows.toSorted(compareRows) } : state;

type Applied = { readonly state: InboxState; readonly resync: boolean };

/** One batch. `resync` says that a snapshot is needed; the rows shown so far stay until it is here. */
export const applyBatch = (state: InboxState, batch: InboxBatch): Applied => {
  if (state.number === null) {
    const tooMany = state.early.length >= EARLY_LIMIT;
    return { state: { ...state, early: tooMany ? [] : [...state.early, batch] }, resync: tooMany || batch.resync };
  }
  if (batch.number <= state.number) return { state, resync: false };
  if (batch.resync || batch.number !== state.number + 1) {
    return { state: { ...state, number: null, early: [batch] }, resync: true };
  }
  return { state: { ...state, number: batch.number, rows: applyChanges(state.rows, batch) }, resync: false };
};

/** A snapshot, and then the batches that came while it was read. */
export const applySnapshot = (state: InboxState, snapshot: InboxSnapshot): Applied => {
  let applied: Applied = {
    state: { number: snapshot.number, rows: snapshot.rows.toSorted(compareRows), early: [] },
    resync: false,
  };
  for (const batch of state.early) {
    // What asked for this snapshot is contained in it; what asked while it was read asks for the next one.
    const step = applyBatch(applied.state, batch);
    if (step.resync) return step;
    applied = step;
  }
  return applied;
};
