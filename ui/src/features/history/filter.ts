/** The filter of the history. Pure. */
import { formatDay, formatMoment, formatTime, midnight } from "../../desk/clock";
import type { CardState, HistoryFilterView, Risk } from "../../ipc/generated";

export const EVERYTHING: HistoryFilterView = {
  text: "",
  workspace: null,
  agent: null,
  tool: null,
  risk: null,
  state: null,
  verdict: null,
  origin: null,
  operator: null,
  rule: null,
  hasty: false,
  overdue: false,
  sinceMs: null,
  untilMs: null,
};

/** Whether it leaves anything out. */
export const isNarrow = (filter: HistoryFilterView): boolean =>
  Object.values(filter).some((value) => value !== null && value !== "" && value !== false);

/** The part of an address that says what to look for; null where it says nothing of the kind. */
export const filterOf = (part: unknown): Partial<HistoryFilterView> | null => {
  if (typeof part !== "object" || part === null) return null;
  const known = Object.entries(part).filter(
    ([name, value]) => name in EVERYTHING && ["string", "number", "boolean"].includes(typeof value),
  );
  return known.length === 0 ? null : Object.fromEntries(known);
};

const DAY = 86_400_000;

/** Times that are offered, as lengths before now. */
export const PERIODS: readonly (readonly [string, number])[] = [
  ["last hour", 3_600_000],
  ["last day", DAY],
  ["last 7 days", 7 * DAY],
  ["last 90 days", 90 * DAY],
];

/** A period as the filter's start: whole minutes, so that the same choice finds the same pages. */
export const sinceOf = (period: number, nowMs: number): number => Math.floor((nowMs - period) / 60_000) * 60_000;

/** The words for a start that was chosen as a period, also some time after it was. */
const periodOf = (sinceMs: number, nowMs: number): string | null =>
  PERIODS.find(([, length]) => Math.abs(nowMs - sinceMs - length) < length / 4)?.[0] ?? null;

/** The words for the time of a filter; null for any time. One that has an end is never named as a period until now. */
export const timeOf = (
  { sinceMs, untilMs }: Pick<HistoryFilterView, "sinceMs" | "untilMs">,
  nowMs: number,
): string | null => {
  if (sinceMs !== null && untilMs !== null) {
    const until =
      midnight(sinceMs) === midnight(untilMs)
        ? formatTime(untilMs)
        : `${formatDay(untilMs, nowMs)}, ${formatTime(untilMs)}`;
    return `${formatMoment(sinceMs, nowMs)} to ${until}`;
  }
  if (untilMs !== null) return `before ${formatMoment(untilMs, nowMs)}`;
  return sinceMs === null ? null : (periodOf(sinceMs, nowMs) ?? `since ${formatMoment(sinceMs, nowMs)}`);
};

interface Option {
  readonly value: string;
  readonly label: string;
}
const words = (list: readonly string[]): readonly Option[] =>
  list.map((value) => ({ value, label: value.replace("_", " ") }));

export const STATES: readonly Option[] = [
  { value: "waiting", label: "still waiting" },
  ...words([
    "pending",
    "holding",
    "queued",
    "decided",
    "expired",
    "withdrawn",
    "rejected",
    "void",
  ] satisfies readonly CardState[]),
];
export const RISKS = words(["safe", "low", "medium", "high", "critical"] satisfies readonly Risk[]);
export const VERDICTS: readonly Option[] = [
  { value: "allowed", label: "allowed" },
  { value: "refused", label: "refused" },
  { value: "caught", label: "refused or edited" },
  ...words([
    "approve",
    "modify",
    "deny",
    "skip",
    "respond",
    "escalate",
    "terminate",
    "expired",
    "withdrawn",
    "rejected",
  ]),
];
export const ORIGINS: readonly Option[] = [
  { value: "automatic", label: "automatic" },
  ...words(["operator", "rule", "setup_key", "timeout", "agent", "system"]),
];
