/** Rows of the history and what became of them. */
import type { HistoryRow, RequestStoryView } from "../../src/ipc/generated";
import { shown } from "./text";
import { card } from "./inbox";

export const historyRow = (number: number, more: Partial<HistoryRow> = {}): HistoryRow => ({
  key: `acme/bot/r${number}`,
  seq: number,
  requestId: `r${number}`,
  workspace: "acme",
  agent: "bot",
  kind: "tool_call",
  tool: shown("pay"),
  summary: shown("to: ada, amount: 12"),
  finding: null,
  risk: "medium",
  state: "decided",
  verdict: shown("approve"),
  origin: shown("operator"),
  by: shown("maria"),
  mine: true,
  message: null,
  rule: null,
  delivery: "executed",
  errorCode: null,
  storedMs: 0,
  decidedMs: 4_000,
  ...more,
});

export const story = (more: Partial<RequestStoryView> = {}): RequestStoryView => ({
  row: historyRow(8),
  card: card(),
  argsDigest: "sha256:aa",
  requestDigest: "sha256:bb",
  requestSeq: 1,
  deadlineMs: 60_000,
  requestedMs: 0,
  receivedMs: 0,
  errorDetail: null,
  raw: null,
  removedMs: null,
  votes: [],
  decision: null,
  onBus: null,
  rule: null,
  signature: null,
  ladder: [],
  audit: [],
  traces: [],
  ...more,
});
