/** Rows and cards of the inbox. */
import type { ArgEntry, Card, InboxBatch, InboxChange, InboxRow } from "../../src/ipc/generated";
import { shown } from "./text";

export const arg = (name: string, value: string): ArgEntry => ({
  name: shown(name),
  value: [{ type: "text", text: shown(value) }],
});

export const row = (more: Partial<InboxRow> = {}): InboxRow => ({
  key: "acme/billing-bot/r1",
  seq: 1,
  kind: "tool_call",
  tool: shown("delete_invoice"),
  risk: "medium",
  path: "low",
  summary: shown("invoice_id: INV-42"),
  says: null,
  workspace: "acme",
  agent: "billing-bot",
  thread: shown("8f21"),
  run: null,
  deadlineMs: 60_000,
  hasDeadline: true,
  storedMs: 0,
  state: "pending",
  warned: false,
  deniedBefore: false,
  votes: null,
  ...more,
});

const DIGEST = "sha256:30e64fe16d9c35d7dea1689837b3dd7e4c4a95c90b71eefec776582e94f00d95";

export const card = (more: Partial<Card> = {}): Card => ({
  key: "acme/billing-bot/r1",
  workspace: "acme",
  production: false,
  agent: "billing-bot",
  requestId: "r1",
  kind: "tool_call",
  tool: { name: shown("delete_invoice"), description: null, namespace: null, origin: shown("local"), effects: null },
  risk: "medium",
  unknownRisk: null,
  path: "low",
  state: "pending",
  says: [{ field: "reason", text: shown("The invoice is a duplicate.") }],
  args: [arg("invoice_id", '"INV-42"')],
  looks: [],
  effective: [],
  warnings: [],
  reveals: [],
  previous: null,
  reAsk: null,
  history: [],
  question: null,
  form: null,
  target: { text: "delete_invoice", pointer: null },
  thread: shown("8f21"),
  run: null,
  allowed: ["approve", "modify", "deny"],
  votes: null,
  origin: {
    requestedMs: 0,
    source: shown("selectools 1.3.0"),
    call: shown("call_93"),
    trace: null,
    argsDigest: DIGEST,
    requestDigest: DIGEST.replace("30e6", "9f3a"),
    nativeDigest: null,
    streamSeq: 7,
  },
  storedMs: 0,
  deadlineMs: 60_000,
  hasDeadline: true,
  hold: null,
  decision: null,
  onBus: null,
  ladder: [
    { rung: "stored", state: "done", atMs: 0, detail: null },
    { rung: "decided", state: "open", atMs: null, detail: null },
    { rung: "on_bus", state: "open", atMs: null, detail: null },
    { rung: "received", state: "open", atMs: null, detail: null },
    { rung: "executed", state: "open", atMs: null, detail: null },
  ],
  ...more,
});

export const batch = (number: number, changes: InboxChange[], more: Partial<InboxBatch> = {}): InboxBatch => ({
  number,
  changes,
  touched: [],
  status: null,
  resync: false,
  panicAsked: false,
  serverMs: 0,
  ...more,
});
