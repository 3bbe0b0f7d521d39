/** The gate of the Vercel AI SDK, 6 and 7 (integrations, section 6). */
import type { ToolCall } from "../calls.js";
import type { Gate } from "../gate.js";
import {
  jsonOf,
  GatedCall,
  group,
  lastMessages,
  notHonoured,
  refusedBy,
  Selection,
  unreported,
  type Answer,
  type Common,
} from "./gating.js";
import { jsonSchemaOf } from "./schemas.js";
import { gatedTools, type AnyTool, type Framework } from "./tool-set.js";

export type { Common } from "./gating.js";

interface Message {
  role: string;
  content: unknown;
}

/** Options of a tool's `execute`, as far as they are read here. */
interface ExecuteOptions {
  toolCallId: string;
  messages: Message[];
  abortSignal?: AbortSignal;
}

interface ModelOutput {
  type: string;
  value?: unknown;
}

const FRAMEWORK = { framework: "ai" };

/** `threadId`: with it, on a gate with a journal, asks survive their process. */
export interface AiOptions extends Common {
  threadId?: string;
}

/**
 * The same tools; the execute of those that ask waits for a person and runs what was approved. A refusal is thrown as
 * an `Error` whose message the model reads.
 */
export function gateTools<T extends Record<string, AnyTool>>(gate: Gate, tools: T, common: AiOptions = {}): T {
  const framework: Framework = {
    agent: FRAMEWORK,
    unasked: { needsApproval: undefined },
    about: (given) => {
      const { toolCallId, messages, abortSignal } = given as ExecuteOptions;
      const history = lastMessages((messages ?? []).map(({ role, content }) => [role, content]));
      return { callId: toolCallId, threadId: common.threadId, history, signal: abortSignal, turn: messages };
    },
    tell: (tool, notices) => ({
      toModelOutput: async (given: { toolCallId: string; output: unknown }): Promise<ModelOutput> => {
        const own = tool.toModelOutput as ((given: unknown) => ModelOutput | Promise<ModelOutput>) | undefined;
        const { output } = given;
        const type = typeof output === "string" ? "text" : "json";
        const plain = own === undefined ? { type, value: output ?? null } : await own.call(tool, given);
        const notice = notices.get(given.toolCallId);
        return notice === undefined ? plain : afterNotice(notice, plain);
      },
    }),
  };
  return gatedTools(gate, tools, new Selection(common), framework);
}

function afterNotice(notice: string, output: ModelOutput): ModelOutput {
  if (output.type === "content" && Array.isArray(output.value)) {
    return { ...output, value: [{ type: "text", text: notice }, ...(output.value as unknown[])] };
  }
  const text = typeof output.value === "string" ? output.value : jsonOf(output.value);
  return { type: output.type.startsWith("error") ? "error-text" : "text", value: notice + text };
}

/** What AI SDK 7 hands to its `toolApproval`. */
interface ApprovalAsked {
  toolCall: { toolCallId: string; toolName: string; input: unknown };
  tools?: Record<string, AnyTool> | undefined;
  messages: Message[];
}

type ApprovalStatus = undefined | { type: "approved" } | { type: "denied"; reason: string };

/** For AI SDK 7's `toolApproval`: approved, or denied with the words. No edits: use `gateTools` for those. */
export function toolApproval(gate: Gate, common: AiOptions = {}): (asked: ApprovalAsked) => Promise<ApprovalStatus> {
  const selection = new Selection(common);
  return async ({ toolCall, tools, messages }) => {
    const { toolCallId, toolName, input } = toolCall;
    if (!selection.asks(toolName)) return undefined;
    const answer = await ask(gate, toolName, unreported, selection, async () => ({
      ...(await aboutTool(tools?.[toolName])),
      args: input,
      callId: toolCallId,
      threadId: common.threadId,
      history: lastMessages(messages.map(({ role, content }) => [role, content])),
    }));
    return answer.allowed ? { type: "approved" } : { type: "denied", reason: answer.words };
  };
}

async function aboutTool(tool: AnyTool | undefined): Promise<Partial<ToolCall>> {
  const description = typeof tool?.description === "string" ? tool.description : undefined;
  return { description, argsSchema: await jsonSchemaOf(tool?.inputSchema) };
}

/** A call that the framework runs itself: it can be approved or not, and nobody says what became of it. */
async function ask(
  gate: Gate,
  name: string,
  degraded: typeof unreported | typeof notHonoured,
  selection: Selection,
  about: () => Promise<Partial<ToolCall>>,
): Promise<Answer> {
  try {
    const call: ToolCall = {
      name,
      risk: selection.risk(name),
      effects: selection.effects(name),
      allowedVerdicts: ["approve", "deny", "skip"],
      agent: FRAMEWORK,
      ...(await about()),
    };
    return await new GatedCall(gate, call, name, { timeout: selection.timeout, degraded }).ask();
  } catch (error) {
    return refusedBy(name, error);
  }
}

interface ApprovalPart {
  type: string;
  approvalId?: string;
  toolCall?: { toolCallId: string; toolName: string; input?: unknown };
}

/** The message that `generateText` goes on with. */
export interface ApprovalMessage {
  role: "tool";
  content: { type: "tool-approval-response"; approvalId: string; approved: boolean; reason?: string }[];
}

/** `threadId` names the conversation: on a gate with a journal the asks are resumable. */
export interface SettleOptions extends Common {
  threadId: string;
  tools?: Record<string, AnyTool>;
  messages?: Message[];
}

/**
 * Asks about every `tool-approval-request` of a result's content, all at once, and answers with one tool message. Give
 * `tools` and `messages` for cards that show a schema and what was said.
 */
export async function settleApprovals(
  gate: Gate,
  content: readonly unknown[],
  options: SettleOptions,
): Promise<ApprovalMessage> {
  const selection = new Selection(options);
  const asked = (content as ApprovalPart[]).filter(({ type }) => type === "tool-approval-request");
  const answers = asked.map(async ({ approvalId = "", toolCall }, index) => {
    const name = toolCall?.toolName ?? "tool";
    const answer = await ask(gate, name, unreported, selection, async () => ({
      ...(await aboutTool(options.tools?.[name])),
      args: toolCall?.input ?? {},
      callId: toolCall?.toolCallId,
      threadId: options.threadId,
      group: group(asked[0]?.approvalId ?? "", index, asked.length),
      history: lastMessages((options.messages ?? []).map(({ role, content: said }) => [role, said])),
    }));
    const type = "tool-approval-response" as const;
    return answer.allowed
      ? { type, approvalId, approved: true }
      : { type, approvalId, approved: false, reason: answer.words };
  });
  return { role: "tool", content: await Promise.all(answers) };
}
