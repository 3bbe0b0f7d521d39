/** The gate of Mastra (integrations, section 6). */
import type { Gate } from "../gate.js";
import { lastMessages, Selection, type Common } from "./gating.js";
import { gatedTools, type AnyTool, type Framework } from "./tool-set.js";

export type { Common } from "./gating.js";

/** The context of a tool's `execute`, as far as it is read here. */
interface Context {
  abortSignal?: AbortSignal;
  /** One object for a run. */
  requestContext?: object;
  agent?: {
    toolCallId?: string;
    threadId?: string;
    messages?: { role?: string; content?: unknown }[];
  };
}

const FRAMEWORK: Framework = {
  agent: { framework: "mastra" },
  unasked: { requireApproval: false },
  about: (given) => {
    const { agent, abortSignal, requestContext } = (given ?? {}) as Context;
    const messages = agent?.messages;
    return {
      callId: agent?.toolCallId,
      threadId: agent?.threadId,
      history: lastMessages((messages ?? []).map(({ role, content }) => [String(role), content])),
      signal: abortSignal,
      turn: requestContext,
    };
  },
};

/** The same tools; the execute of those that ask waits for a person and runs what was approved. */
export function gateTools<T extends Record<string, AnyTool>>(gate: Gate, tools: T, common: Common = {}): T {
  return gatedTools(gate, tools, new Selection(common), FRAMEWORK);
}
