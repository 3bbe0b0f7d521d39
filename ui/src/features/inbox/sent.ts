/** What became of the verdicts of this window, until the operator has seen it. Pure. */
import type { CardState, DecidedNotice, InboxRow, Verdict, Shown } from "../../ipc/generated";

export type SentState = "sending" | "holding" | "queued" | "stored" | "lost" | "undone" | "failed";

export interface Sent {
  readonly key: string;
  readonly name: Shown;
  readonly verdict: Verdict;
  /** The verdict that really goes out; terminate may have become deny. */
  readonly sentAs: string;
  readonly state: SentState;
  readonly releaseMs: number | null;
  /** Who was first, when somebody else was. */
  readonly by: Shown | null;
  readonly message: string | null;
  /** When this state began, server time. */
  readonly sinceMs: number;
}

const STATE_OF: Partial<Record<CardState, SentState>> = { holding: "holding", queued: "queued", decided: "stored" };

/** How an outcome reads; anything but an acknowledged one is not stored. */
export const sentState = (state: CardState): SentState => STATE_OF[state] ?? "failed";

export const put = (list: readonly Sent[], entry: Sent): readonly Sent[] => [
  entry, ...list.filter((other) => other.key !== entry.key),
];

const isOpen = (entry: Sent): boolean => entry.state === "sending" || entry.state === "holding" || entry.state === "queued";

/** News from the stream. Only a stored decision of this operator reads as stored. */
export const note = (list: readonly Sent[], notice: DecidedNotice, nowMs: number): readonly Sent[] =>
  list.map((entry) => {
    if (entry.key !== notice.key || !isOpen(entry) || notice.verdict === null) return entry;
    return { ...entry, state: notice.mine ? "stored" : "lost", sentAs: notice.verdict, by: notice.by, sinceMs: nowMs };
  });

/** What the list says: an approval whose hold is over waits for the stream, and cannot be taken back any more. */
export const follow = (list: readonly Sent[], rows: readonly InboxRow[], nowMs: number): readonly Sent[] => {
  if (undoable(list) === null) return list;
  const released = new Set(rows.filter((row) => row.state === "queued").map((row) => row.key));
  const moves = (entry: Sent): boolean => entry.state === "holding" && released.has(entry.key);
  return list.some(moves) ? list.map((entry) => (moves(entry) ? { ...entry, state: "queued", sinceMs: nowMs } : entry)) : list;
};

/** The held approval that Z takes back: the last one given. */
export const undoable = (list: readonly Sent[]): Sent | null => list.find((entry) => entry.state === "holding") ?? null;

const SEEN_MS: Record<SentState, number> = {
  sending: Infinity, holding: Infinity, queued: Infinity, stored: 6_000, undone: 4_000, lost: 20_000, failed: 20_000,
};

/** Drops what was on screen for long enough. */
export const fade = (list: readonly Sent[], nowMs: number): readonly Sent[] => {
  const kept = list.filter((entry) => nowMs - entry.sinceMs < SEEN_MS[entry.state]);
  return kept.length === list.length ? list : kept;
};
