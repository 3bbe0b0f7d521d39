/** The filter of the history. Pure. */
import type { HistoryFilterView } from "../../ipc/generated";

export const EVERYTHING: HistoryFilterView = {
  text: "", workspace: null, agent: null, tool: null, risk: null, state: null, verdict: null, origin: null, operator: null, rule: null,
  sinceMs: null, untilMs: null,
};

/** Whether it leaves anything out. */
export const isNarrow = (filter: HistoryFilterView): boolean =>
  Object.entries(filter).some(([, value]) => value !== null && value !== "");

const DAY = 86_400_000;

/** Times that are offered, as lengths before now. */
export const PERIODS: readonly (readonly [string, number])[] = [["last hour", 3_600_000], ["last day", DAY], ["last 7 days", 7 * DAY], ["last 90 days", 90 * DAY]];

/** A period as the filter's start: whole minutes, so that the same choice finds the same pages. */
export const sinceOf = (period: number, nowMs: number): number => Math.floor((nowMs - period) / 60_000) * 60_000;

/** The words for a start that was chosen as a period, also some time after it was. */
export const periodOf = (sinceMs: number, nowMs: number): string | null =>
  PERIODS.find(([, length]) => Math.abs(nowMs - sinceMs - length) < length / 4)?.[0] ?? null;

export const STATES = ["pending", "holding", "queued", "decided", "expired", "withdrawn", "rejected", "void"] as const;
export const RISKS = ["safe", "low", "medium", "high", "critical"] as const;
export const VERDICTS = ["approve", "modify", "deny", "skip", "respond", "escalate", "terminate"] as const;
export const ORIGINS = ["operator", "rule", "setup_key", "timeout", "agent", "system"] as const;
