/** How a verdict reads once it is stored. */
const PAST: Record<string, string> = {
  approve: "approved",
  modify: "approved with edits",
  deny: "denied",
  skip: "skipped",
  respond: "answered",
  escalate: "escalated",
  terminate: "denied, agent stopped",
  expired: "expired",
  withdrawn: "withdrawn by the agent",
  rejected: "rejected",
};

export const pastOf = (verdict: string): string => PAST[verdict] ?? verdict;
