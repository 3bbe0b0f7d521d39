/** Agents and their tools. */
import type { AgentToolView, AgentView } from "../../src/ipc/generated";
import { shown } from "./text";

export const agentTool = (more: Partial<AgentToolView> = {}): AgentToolView => ({
  name: shown("pay"),
  description: null,
  risk: "medium",
  unknownRisk: null,
  origin: null,
  gated: true,
  unlisted: false,
  strict: false,
  strictFaults: [],
  looksLike: null,
  digest: "sha256:aa",
  approvedMs: null,
  changed: false,
  before: null,
  now: null,
  typed: null,
  ...more,
});

export const agent = (more: Partial<AgentView> = {}): AgentView => ({
  key: "acme/bot",
  workspace: "acme",
  agent: "bot",
  kind: null,
  framework: shown("selectools 1.3.0"),
  presence: "live",
  lastSeenMs: 59_000,
  lastRequestMs: null,
  waiting: 0,
  enrolled: true,
  revokedMs: null,
  brake: null,
  gate: null,
  instances: [{ id: shown("i1"), firstSeenMs: 0, lastSeenMs: 59_000, live: true }],
  tools: [],
  credentials: [],
  skills: [],
  helloMs: 0,
  helloFault: null,
  faults: [],
  ...more,
});
