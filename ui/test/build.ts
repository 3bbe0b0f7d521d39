/** Small builders for tests: only what a test names differs from the default. */
import type { AlarmItem, AgentToolView, AgentView, ArgEntry, Card, HistoryRow, InboxBatch, InboxChange, InboxRow, PreviewReport, RequestStoryView, RuleRow, SettingsView, SetupForm, SetupKeyView, SetupLineView, Shown, SpanView, StatusView, TraceLine, TraceTree } from "../src/ipc/generated";

/** Text in which `⟨U+202E⟩` stands for a mark, as the core would send it. */
export const shown = (text: string): Shown =>
  text.split(/(⟨U\+[0-9A-F]+⟩)/).filter((part) => part !== "").map((part) =>
    part.startsWith("⟨U+") ? { kind: "mark", code: part.slice(1, -1), name: "right-to-left override" } : { kind: "text", text: part });

export const arg = (name: string, value: string): ArgEntry => ({ name: shown(name), value: [{ type: "text", text: shown(value) }] });

export const row = (more: Partial<InboxRow> = {}): InboxRow => ({
  key: "acme/billing-bot/r1", seq: 1, kind: "tool_call", tool: shown("delete_invoice"), risk: "medium", path: "low",
  summary: shown("invoice_id: INV-42"), says: null, workspace: "acme", agent: "billing-bot", thread: shown("8f21"),
  run: null, deadlineMs: 60_000, hasDeadline: true, storedMs: 0, state: "pending", warned: false, votes: null, ...more,
});

const DIGEST = "sha256:30e64fe16d9c35d7dea1689837b3dd7e4c4a95c90b71eefec776582e94f00d95";

export const card = (more: Partial<Card> = {}): Card => ({
  key: "acme/billing-bot/r1", workspace: "acme", production: false, agent: "billing-bot", requestId: "r1", kind: "tool_call",
  tool: { name: shown("delete_invoice"), description: null, namespace: null, origin: shown("local"), effects: null },
  risk: "medium", unknownRisk: null, path: "low", state: "pending",
  says: [{ field: "reason", text: shown("The invoice is a duplicate.") }], args: [arg("invoice_id", '"INV-42"')], looks: [],
  effective: [], warnings: [], reveals: [], previous: null, reAsk: null, history: [], question: null, form: null, target: { text: "delete_invoice", pointer: null },
  thread: shown("8f21"), run: null, allowed: ["approve", "modify", "deny"], votes: null,
  origin: {
    requestedMs: 0, source: shown("selectools 1.3.0"), call: shown("call_93"), trace: null, argsDigest: DIGEST,
    requestDigest: DIGEST.replace("30e6", "9f3a"), nativeDigest: null, streamSeq: 7,
  },
  storedMs: 0, deadlineMs: 60_000, hasDeadline: true, hold: null, decision: null, onBus: null,
  ladder: [
    { rung: "stored", state: "done", atMs: 0, detail: null }, { rung: "decided", state: "open", atMs: null, detail: null },
    { rung: "on_bus", state: "open", atMs: null, detail: null }, { rung: "received", state: "open", atMs: null, detail: null },
    { rung: "executed", state: "open", atMs: null, detail: null },
  ],
  ...more,
});

export const traceLine = (more: Partial<TraceLine> = {}): TraceLine => ({
  span: 1, request: null, parent: null, depth: 0, agent: 0, kind: "tool", name: shown("crm.lookup"), startMs: 0, endMs: 182, look: "ok",
  code: null, wait: null, repairs: [], usage: null, shortened: false, artifacts: 0, subchats: 0, ...more,
});

export const traceTree = (lines: TraceLine[], more: Partial<TraceTree> = {}): TraceTree => ({
  trace: shown("4bf92f35"), agents: ["acme/billing-bot"], lines, startMs: 0, durationMs: 1_000, waitingMs: 0, truncated: false, partlyRead: false, ...more,
});

export const span = (more: Partial<SpanView> = {}): SpanView => ({
  key: "span:1", name: shown("crm.lookup"), agent: "acme/billing-bot", status: "ok", tool: shown("crm.lookup"), startedMs: 0, ids: [],
  input: [], inputCut: false, output: [], artifacts: [], fault: null, chain: [], usage: null, attributes: [], attributesCut: false, ...more,
});

export const agentTool = (more: Partial<AgentToolView> = {}): AgentToolView => ({
  name: shown("pay"), description: null, risk: "medium", unknownRisk: null, origin: null, gated: true, listed: true, strict: false, strictFaults: [],
  looksLike: null, digest: "sha256:aa", approvedMs: null, changed: false, before: null, now: null, typed: null, ...more,
});

export const agent = (more: Partial<AgentView> = {}): AgentView => ({
  key: "acme/bot", workspace: "acme", agent: "bot", kind: null, framework: shown("selectools 1.3.0"), presence: "live", lastSeenMs: 59_000,
  lastRequestMs: null, waiting: 0, enrolled: true, revokedMs: null, brake: null,
  instances: [{ id: shown("i1"), firstSeenMs: 0, lastSeenMs: 59_000, live: true }], tools: [], credentials: [], skills: [], helloMs: 0, helloFault: null,
  faults: [], ...more,
});

export const historyRow = (number: number, more: Partial<HistoryRow> = {}): HistoryRow => ({
  key: `acme/bot/r${number}`, seq: number, requestId: `r${number}`, workspace: "acme", agent: "bot", kind: "tool_call", tool: shown("pay"), risk: "medium",
  state: "decided", verdict: shown("approve"), origin: shown("operator"), by: shown("maria"), mine: true, message: null, rule: null, delivery: "executed",
  errorCode: null, storedMs: 0, decidedMs: 4_000, ...more,
});

export const story = (more: Partial<RequestStoryView> = {}): RequestStoryView => ({
  row: historyRow(8), card: card(), argsDigest: "sha256:aa", requestDigest: "sha256:bb", requestSeq: 1, deadlineMs: 60_000, requestedMs: 0, receivedMs: 0,
  errorDetail: null, raw: null, removedMs: null, votes: [], decision: null, onBus: null, rule: null, signature: null, ladder: [], audit: [], traces: [], ...more,
});

export const status = (more: Partial<StatusView> = {}): StatusView => ({
  bus: { connected: true, url: "nats://127.0.0.1:4222", serverVersion: "2.15.1", insecure: [] }, caughtUp: true, lag: 0,
  waiting: 1, rejected: 0, outbox: 0, agents: 1, panic: null, brakes: [], bypasses: [], rulesApproving: 0, alarms: [], locked: false, readOnly: null, operator: shown("maria"), operatorKeyTail: "7Q2F",
  audit: { seq: 48_211, hash: "00", anchoredSeq: 48_200 }, ...more,
});

export const alarm = (more: Partial<AlarmItem> = {}): AlarmItem => ({
  id: 1, code: "void_vote", subject: shown("acme/bot/r1"), request: "acme/bot/r1", atMs: 0, happened: "What happened.", next: "What to do.", lasts: false, seen: null, ...more,
});

export const setupKey = (more: Partial<SetupKeyView> = {}): SetupKeyView => ({
  key: "limit", kind: "int", group: shown("Main"), description: null, placeholder: null, importance: null, elements: [], secret: false, default: shown("1"),
  value: shown("1"), chosen: null, bound: null, ...more,
});

export const setupForm = (more: Partial<SetupForm> = {}): SetupForm => ({
  key: "acme/bot", workspace: "acme", agent: "bot", revision: 0, readable: true, declared: { type: "keys", keys: [setupKey()] }, leftovers: [], changed: null, ...more,
});

export const setupLine = (more: Partial<SetupLineView> = {}): SetupLineView => ({ key: "acme/bot", workspace: "acme", agent: "bot", keys: 1, chosen: 0, bound: 0, ...more });

export const settings = (more: Partial<SettingsView> = {}): SettingsView => ({
  ownServer: true, login: "own_server", tlsCa: null, tlsCert: null, allowSingleAccount: false, operator: shown("maria"), workspace: "default", production: null,
  console: "0190a1b2", realm: "0190ffff", keys: [{ role: "human", key: "UHUMAN7Q2F" }, { role: "auto", key: "UAUTO" }, { role: "login", key: "ULOGIN" }],
  keyPlace: "file", keyPlaceWhy: "files were asked for", operators: [], operatorApproval: false, folders: [{ what: "data", path: "/home/maria/.local/share/countersign", exists: true }],
  retention: [], stalls: { onBusS: 10, receivedS: 30, executedS: 600 }, waitingLimit: 10_000,
  otlp: { http: null, grpc: null, allowRemote: false, requireToken: false, export: null }, ...more,
});

export const batch = (number: number, changes: InboxChange[], more: Partial<InboxBatch> = {}): InboxBatch => ({
  number, changes, touched: [], status: null, resync: false, panicAsked: false, serverMs: 0, ...more,
});

export const ruleRow = (more: Partial<RuleRow> = {}): RuleRow => ({
  id: "small", name: shown("Small refunds"), effect: "approve", approvals: null, state: "on", version: 3, sinceMs: 0, about: shown("refund; any agent"), uses: 0,
  today: 0, lastUsedMs: null, shadows: 0, lastError: null, regrets: 0, lastRegrets: [], expiresMs: null, thread: false, limit: null, ...more,
});

export const previewReport = (more: Partial<PreviewReport> = {}): PreviewReport => ({
  total: 10, approve: 0, ask: 0, deny: 0, agreed: 0, denied: 0, refused: 0, unseen: 0, newlyHigh: 0, newlyCritical: 0, unsure: 0, unsureWhy: null,
  flips: [], newly: [], samples: [], ...more,
});
