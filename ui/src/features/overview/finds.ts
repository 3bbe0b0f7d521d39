/** Which requests a number of the overview counts, as a filter of the history. Pure. */
import type { HistoryFilterView, OverviewView, PaceView, VerdictCount, VolumePiece } from "../../ipc/generated";

export type Find = Partial<HistoryFilterView>;

/** The time of the numbers. A request that came later is in neither. */
const during = ({ sinceMs, untilMs }: OverviewView): Find => ({ sinceMs, untilMs });

export const arrived = during;
export const open = (view: OverviewView): Find => ({ ...during(view), state: "waiting" });
export const human = (view: OverviewView): Find => ({ ...during(view), state: "decided", origin: "operator" });
export const automatic = (view: OverviewView): Find => ({ ...during(view), state: "decided", origin: "automatic" });
export const hasty = (view: OverviewView): Find => ({ ...human(view), hasty: true });
export const caught = (view: OverviewView): Find => ({ ...human(view), verdict: "caught" });
export const expired = (view: OverviewView): Find => ({ ...during(view), state: "expired" });
/** Whenever they were given. */
export const stalled: Find = { overdue: true };

export const ofVerdict = (view: OverviewView, { verdict }: VerdictCount): Find => ({
  ...during(view),
  verdict: verdict.value,
});

/** None for the pairs that are counted together, and for what is not a tool call: no filter finds those alone. */
export const ofPace = (view: OverviewView, { agent, tool }: PaceView): Find | null =>
  agent === null || tool === null ? null : { ...human(view), agent, tool: tool.value };

const SERIES: Record<Exclude<keyof VolumePiece, "startMs">, Find> = {
  arrived: {},
  allowed: { state: "decided", verdict: "allowed" },
  denied: { state: "decided", verdict: "refused" },
  expired: { state: "expired" },
};

/** A piece of the chart. The last one ends with the time. */
export const ofPiece = (view: OverviewView, { startMs }: VolumePiece, series: keyof typeof SERIES): Find => ({
  ...SERIES[series],
  sinceMs: startMs,
  untilMs: Math.min(startMs + view.stepMs, view.untilMs),
});
