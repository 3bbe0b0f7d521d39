/** What became of the verdicts of this window, until the operator has seen it. Pure. */
import { pastOf } from "../../components/verdict";
import { plainText } from "../../components/shown";
import type {
  CardState,
  DecidedNotice,
  FindingView,
  InboxRow,
  PracticeAnswer,
  Verdict,
  Shown,
} from "../../ipc/generated";

/**
 * `voted` is a valid vote while others are waited for, `over` a request that ended before the verdict counted,
 * `back` a hold that the console dropped: the request waits again. `practice` was no request.
 */
type SentState =
  | "sending"
  | "holding"
  | "queued"
  | "stored"
  | "voted"
  | "lost"
  | "over"
  | "back"
  | "undone"
  | "failed"
  | "practice";

export interface Sent {
  readonly key: string;
  readonly name: Shown;
  /** What it does, else its arguments, on one line; of a batch those that differ. */
  readonly args: Shown;
  /** The strongest finding of its card. */
  readonly finding: FindingView | null;
  /** Those that were answered together share a number; null for one that was answered alone. */
  readonly batch: number | null;
  readonly verdict: Verdict;
  /** The verdict that really goes out; terminate may have become deny. */
  readonly sentAs: string;
  /** One of several operators' votes, and not a decision alone. */
  readonly isVote: boolean;
  readonly state: SentState;
  /** The list has shown it as held or on its way: it is not older than this entry. */
  readonly listed: boolean;
  readonly releaseMs: number | null;
  /** Who was first, when somebody else was. */
  readonly by: Shown | null;
  readonly message: string | null;
  /** What came of a practice card. */
  readonly practice: PracticeAnswer | null;
  /** When this state began, server time. */
  readonly sinceMs: number;
}

/** A request that still waits after a verdict was taken got a vote. */
const STATE_OF: Partial<Record<CardState, SentState>> = {
  holding: "holding",
  queued: "queued",
  decided: "stored",
  pending: "voted",
};

/** How an outcome reads; anything but an acknowledged one is not stored. */
export const sentState = (state: CardState): SentState => STATE_OF[state] ?? "failed";

/** A new entry comes first; one that is there keeps its place. */
export const put = (list: readonly Sent[], entry: Sent): readonly Sent[] =>
  list.some((other) => other.key === entry.key)
    ? list.map((other) => (other.key === entry.key ? entry : other))
    : [entry, ...list];

const isOpen = (entry: Sent): boolean =>
  entry.state === "sending" || entry.state === "holding" || entry.state === "queued";

/** Ends of a request that nobody decided on. */
const OVER: ReadonlySet<string> = new Set(["expired", "withdrawn", "void"]);
const LETS_RUN: ReadonlySet<string> = new Set(["approve", "modify"]);

const ended = (entry: Sent, notice: DecidedNotice, verdict: string): SentState => {
  if (OVER.has(verdict)) return "over";
  // The decision that several votes made is whoever's counted them.
  return notice.mine || (entry.state === "voted" && LETS_RUN.has(verdict)) ? "stored" : "lost";
};

/** News from the stream. Only a stored decision of this operator reads as stored. */
export const note = (list: readonly Sent[], notice: DecidedNotice, nowMs: number): readonly Sent[] =>
  list.map((entry) => {
    if (entry.key !== notice.key || notice.verdict === null || (!isOpen(entry) && entry.state !== "voted"))
      return entry;
    return {
      ...entry,
      state: ended(entry, notice, notice.verdict),
      sentAs: notice.verdict,
      by: notice.by,
      sinceMs: nowMs,
    };
  });

/** A hold that the list has not shown until so long after its end was dropped between two looks at it. */
const UNLISTED_MS = 10_000;

type Row = Pick<InboxRow, "key" | "state" | "votes">;

const followed = (entry: Sent, row: Row | undefined, nowMs: number): Sent => {
  if (row === undefined || (entry.state !== "holding" && entry.state !== "queued" && entry.state !== "back"))
    return entry;
  if (row.state === "holding")
    return entry.listed && entry.state === "holding" ? entry : { ...entry, state: "holding", listed: true };
  if (row.state === "queued")
    return entry.state === "queued" && entry.listed
      ? entry
      : { ...entry, state: "queued", listed: true, sinceMs: nowMs };
  if (entry.state === "back") return entry;
  if (entry.isVote && row.votes?.mine === true) return { ...entry, state: "voted", sinceMs: nowMs };
  // The list may be older than the answer.
  const release = entry.releaseMs ?? entry.sinceMs;
  if (!entry.listed && nowMs < release + UNLISTED_MS) return entry;
  // A vote is on its way while its request waits.
  if (entry.isVote && nowMs >= release)
    return entry.state === "queued" ? entry : { ...entry, state: "queued", sinceMs: nowMs };
  return { ...entry, state: "back", sinceMs: nowMs };
};

/**
 * What the list says: a hold that is over waits for the stream, and cannot be taken back any more; one that was dropped
 * waits for a person.
 */
export const follow = (list: readonly Sent[], rows: readonly Row[], nowMs: number): readonly Sent[] => {
  if (!list.some((entry) => isOpen(entry) || entry.state === "back")) return list;
  const wanted = new Set(list.map((entry) => entry.key));
  const there = new Map(rows.filter((row) => wanted.has(row.key)).map((row) => [row.key, row]));
  const next = list.map((entry) => followed(entry, there.get(entry.key), nowMs));
  return next.some((entry, place) => entry !== list[place]) ? next : list;
};

/**
 * What Z takes back: the held approval that was given last, with all that were given together with it and are still
 * held.
 */
export const undoable = (list: readonly Sent[]): readonly Sent[] => {
  const last = list.find((entry) => entry.state === "holding");
  if (last === undefined) return [];
  return last.batch === null ? [last] : list.filter((entry) => entry.state === "holding" && entry.batch === last.batch);
};

/**
 * The keys of what Z takes back, in the order they were given. A page that was loaded again has forgotten what it held:
 * then it is the newest held row.
 */
export const undoableKeys = (list: readonly Sent[], rows: readonly InboxRow[]): readonly string[] => {
  const own = undoable(list)
    .map((entry) => entry.key)
    .toReversed();
  if (own.length > 0) return own;
  const held = rows.filter((row) => row.state === "holding" && !list.some((entry) => entry.key === row.key));
  return held
    .toSorted((a, b) => b.seq - a.seq)
    .slice(0, 1)
    .map((row) => row.key);
};

const SEEN_MS: Record<SentState, number> = {
  sending: Infinity,
  holding: Infinity,
  queued: Infinity,
  stored: 6_000,
  voted: 6_000,
  undone: 4_000,
  lost: 20_000,
  over: 20_000,
  back: 20_000,
  failed: 20_000,
  practice: 12_000,
};

/** Drops what was on screen for long enough; what was answered together goes together. */
export const fade = (list: readonly Sent[], nowMs: number): readonly Sent[] => {
  const stays = (entry: Sent): boolean => nowMs - entry.sinceMs < SEEN_MS[entry.state];
  const batches = new Set(list.filter(stays).map(({ batch }) => batch));
  const kept = list.filter((entry) => stays(entry) || (entry.batch !== null && batches.has(entry.batch)));
  return kept.length === list.length ? list : kept;
};

/** Nobody looked at the list for a while: what arrived then counts from now on. */
export const shownAgain = (list: readonly Sent[], nowMs: number): readonly Sent[] =>
  list.map((entry) => (isOpen(entry) ? entry : { ...entry, sinceMs: nowMs }));

const HOW_IT_ENDED: Record<string, string> = {
  expired: "it expired before your answer counted",
  withdrawn: "its agent took it back before your answer counted",
  void: "the stored decision does not verify; see the alarms",
};

/** What an entry says, but for the time that is left of its hold. */
export const wordsOf = (entry: Sent): { readonly strong: string; readonly rest: string } => {
  switch (entry.state) {
    case "sending":
      return { strong: "", rest: "sending…" };
    case "holding":
      return { strong: "held, not sent", rest: "" };
    case "queued":
      return {
        strong: "",
        rest: entry.isVote ? "your vote is signed and being sent" : "signed and being sent",
      };
    case "stored":
      return { strong: pastOf(entry.sentAs), rest: ", on the bus" };
    case "voted":
      return { strong: "your vote is recorded", rest: "; waiting for others" };
    case "lost":
      return { strong: " was first:", rest: ` ${pastOf(entry.sentAs)}` };
    case "over":
      return { strong: "not in force:", rest: ` ${HOW_IT_ENDED[entry.sentAs] ?? entry.sentAs}` };
    case "back":
      return { strong: "not sent:", rest: " it waits for you again" };
    case "undone":
      return { strong: "", rest: "approval undone" };
    case "practice":
      return { strong: "", rest: plainText(entry.practice?.words ?? []) };
    case "failed":
      return { strong: "", rest: entry.message ?? "was not accepted; look at the card" };
  }
};
