/** Small builders for tests: only what a test names differs from the default. */
import type { InboxBatch, InboxChange, InboxRow, Shown } from "../src/ipc/generated";

export const shown = (text: string): Shown => [{ kind: "text", text }];

export const row = (more: Partial<InboxRow> = {}): InboxRow => ({
  key: "acme/billing-bot/r1", seq: 1, kind: "tool_call", tool: shown("delete_invoice"), risk: "medium", path: "low",
  summary: shown("invoice_id: INV-42"), says: null, workspace: "acme", agent: "billing-bot", thread: shown("8f21"),
  run: null, deadlineMs: 60_000, hasDeadline: true, storedMs: 0, state: "pending", warned: false, ...more,
});

export const batch = (number: number, changes: InboxChange[], more: Partial<InboxBatch> = {}): InboxBatch => ({
  number, changes, touched: [], status: null, resync: false, serverMs: 0, ...more,
});
