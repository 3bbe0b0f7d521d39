/** Rules and what they would do. */
import type { PreviewReport, RuleRow, WaitingCalls } from "../../src/ipc/generated";
import { shown } from "./text";
import { historyRow } from "./history";

export const ruleRow = (more: Partial<RuleRow> = {}): RuleRow => ({
  id: "small",
  name: shown("Small refunds"),
  effect: "approve",
  approvals: null,
  state: "on",
  version: 3,
  sinceMs: 0,
  about: shown("refund; any agent"),
  uses: 0,
  today: 0,
  lastUsedMs: null,
  shadows: 0,
  lastError: null,
  regrets: 0,
  lastRegrets: [],
  expiresMs: null,
  thread: false,
  limit: null,
  ...more,
});

export const waitingCalls = (keys: string[]): WaitingCalls => ({
  keys,
  calls: keys.map((key, index) => ({
    row: historyRow(index, { key, state: "pending", verdict: null, summary: shown("INV-1") }),
    rule: "approve",
  })),
});

export const previewReport = (more: Partial<PreviewReport> = {}): PreviewReport => ({
  total: 10,
  approve: 0,
  ask: 0,
  deny: 0,
  agreed: 0,
  denied: 0,
  refused: 0,
  unseen: 0,
  waiting: 0,
  newlyHigh: 0,
  newlyCritical: 0,
  unsure: 0,
  unsureWhy: null,
  flips: [],
  newly: [],
  samples: [],
  ...more,
});
