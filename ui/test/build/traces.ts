/** Traces and their spans. */
import type { SpanView, TraceLine, TraceTree } from "../../src/ipc/generated";
import { shown } from "./text";

export const traceLine = (more: Partial<TraceLine> = {}): TraceLine => ({
  span: 1,
  request: null,
  parent: null,
  depth: 0,
  agent: 0,
  kind: "tool",
  name: shown("crm.lookup"),
  startMs: 0,
  endMs: 182,
  look: "ok",
  code: null,
  wait: null,
  repairs: [],
  usage: null,
  shortened: false,
  artifacts: 0,
  subchats: 0,
  ...more,
});

export const traceTree = (lines: TraceLine[], more: Partial<TraceTree> = {}): TraceTree => ({
  trace: shown("4bf92f35"),
  agents: ["acme/billing-bot"],
  lines,
  startMs: 0,
  durationMs: 1_000,
  waitingMs: 0,
  truncated: false,
  partlyRead: false,
  ...more,
});

export const span = (more: Partial<SpanView> = {}): SpanView => ({
  key: "span:1",
  name: shown("crm.lookup"),
  agent: "acme/billing-bot",
  status: "ok",
  tool: shown("crm.lookup"),
  startedMs: 0,
  ids: [],
  input: [],
  inputCut: false,
  output: [],
  artifacts: [],
  fault: null,
  chain: [],
  usage: null,
  attributes: [],
  attributesCut: false,
  ...more,
});
