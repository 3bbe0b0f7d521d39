/**
 * The gate of the OpenAI Agents SDK (integrations, section 6).
 *
 * `gated` puts the question into function tools. `settle` answers the framework's own interruptions, and `run` runs an
 * agent until none is left.
 */
import {
  getCurrentSpan,
  getCurrentTrace,
  Runner,
  RunState,
  tool as makeTool,
  type Agent,
  type AgentInputItem,
  type FunctionTool,
  type RunContext,
  type RunResult,
  type Tool,
} from "@openai/agents";

import type { ToolCall } from "../calls.js";
import type { Gate } from "../gate.js";
import { warn } from "../notices.js";
import { editNotice, responseText } from "../refusal.js";
import type { Risk } from "../words.js";
import { GatedCall, notHonoured, rawText, refusedBy, Selection, Turns, type Common } from "./gating.js";
import { answerAll, isErrorText, Receipts, type AnyState } from "./openai-states.js";

export type { Common } from "./gating.js";

/** Arguments of a tool's `invoke`. */
type Details = Parameters<FunctionTool["invoke"]>[2];
type AnyAgent = Agent<any, any>; // oxlint-disable-line no-explicit-any
type AnyResult = RunResult<any, any>; // oxlint-disable-line no-explicit-any

/** As the framework makes it where a tool never asks: of a function of our own it thinks that it may. */
const NEVER_ASKS = makeTool({
  name: "never_asks",
  description: "",
  strict: false,
  parameters: { type: "object", properties: {}, required: [], additionalProperties: true },
  execute: () => "",
}).needsApproval;

/**
 * The tools, with copies of the asking function tools that ask before they run. A copy asks in the place of
 * `needsApproval`, and its own time-out begins with the answer. Tools of other kinds come back as they are; a warning
 * names each that could have asked, as `settle` can ask about those.
 */
export function gated(gate: Gate, tools: readonly Tool[], common: Common = {}): Tool[] {
  const selection = new Selection(common);
  const turns = new Turns();
  return tools.map((tool) => {
    if (!selection.asks(tool.name)) return tool;
    if (tool.type === "function") return asking(gate, tool, selection, turns);
    if ("needsApproval" in tool) {
      warn(`${tool.name} is not a function tool and does not ask here: let it need approval and use settle()`);
    }
    return tool;
  });
}

/** How `settle` asks. */
export interface SettleOptions {
  /** Names the conversation: on a gate with a journal the asks are resumable. */
  threadId: string;
  risks?: Common["risks"];
  timeout?: number | null;
}

/**
 * Asks about every interruption of `state`, all at once, and writes the answers into it. Resumable from
 * `state.toString()` on a gate with a journal. Nobody hears here whether the calls then ran.
 */
export async function settle(gate: Gate, state: AnyState, options: SettleOptions): Promise<void> {
  await answerAll(gate, state, options.threadId, selectionOf({ timeout: null, ...options }), null);
}

/** How `run` runs and asks; what is not named here goes to the framework. */
export interface RunOptions extends SettleOptions {
  gate: Gate;
  /** Whose listeners hear of the run; a new one without it. */
  runner?: Runner;
  [option: string]: unknown;
}

/** The framework's `run` until nothing interrupts; receipts say what became of each call. `input` may be a state. */
export async function run(
  agent: AnyAgent,
  input: string | AgentInputItem[] | AnyState,
  options: RunOptions,
): Promise<AnyResult> {
  const { gate, threadId, risks, timeout = 300, runner = new Runner(), ...more } = options;
  const selection = selectionOf({ risks, timeout });
  const receipts = new Receipts();
  let next = input;
  try {
    for (;;) {
      if (next instanceof RunState) await answerAll(gate, next, threadId, selection, receipts);
      const result: AnyResult = await runner.run(agent, next as string, { ...more, stream: false });
      receipts.close(null);
      if (result.interruptions.length === 0) return result;
      next = result.state as AnyState;
    }
  } catch (error) {
    receipts.close(error);
    throw error;
  }
}

function selectionOf({
  risks,
  timeout,
}: {
  risks?: Record<string, Risk> | undefined;
  timeout: number | null;
}): Selection {
  return new Selection({ timeout, ...(risks !== undefined && { risks }) });
}

function asking(gate: Gate, tool: FunctionTool, selection: Selection, turns: Turns): FunctionTool {
  // What cannot be prefixed by a text: a result that has to fit a schema.
  const unnoticed = tool.outputSchema === undefined ? null : "edit_notice";
  const invoke = async (context: RunContext<unknown>, text: string, details?: Details): Promise<unknown> => {
    let args: unknown;
    try {
      args = text === "" ? {} : JSON.parse(text);
    } catch {
      return `${tool.name} was not run: its arguments are not JSON`;
    }
    const trace = getCurrentTrace();
    const call: ToolCall = {
      name: tool.name,
      description: tool.description || undefined,
      argsSchema: tool.parameters,
      args,
      argsRaw: rawText(text, args),
      risk: selection.risk(tool.name),
      effects: selection.effects(tool.name),
      allowedVerdicts: ["approve", "modify", "deny", "skip", "respond"],
      agent: { framework: "openai-agents" },
      callId: details?.toolCall?.callId,
      threadId: trace?.groupId || undefined,
      runId: trace !== null && trace.traceId !== "no-op" ? trace.traceId : undefined,
      group: await turns.place(context),
    };
    const signal = details?.signal;
    const degraded = (decision: Parameters<typeof notHonoured>[0]) => notHonoured(decision, unnoticed);
    const found = new GatedCall(gate, call, tool.name, { timeout: selection.timeout, degraded, signal });
    const { allowed, verdict, words, decision } = await found.ask();
    if (verdict === "respond" && decision !== null) return responseText(decision);
    if (!allowed) return words;
    const notice = verdict === "modify" && unnoticed === null && decision !== null ? editNotice(decision) : null;
    return invokeApproved(found, tool, context, details, notice);
  };
  const copy = Object.create(Object.getPrototypeOf(tool), Object.getOwnPropertyDescriptors(tool)) as FunctionTool;
  return Object.assign(copy, {
    needsApproval: NEVER_ASKS,
    timeoutMs: undefined,
    invoke: (context: RunContext<unknown>, text: string, details?: Details) =>
      invoke(context, text, details).catch((error: unknown) => {
        if (details?.signal?.aborted || error instanceof ToolFailure)
          throw error instanceof ToolFailure ? error.cause : error;
        return refusedBy(tool.name, error).words;
      }),
  });
}

/** What the tool itself threw, which goes on to the framework. */
class ToolFailure extends Error {}

/** What the tool answers to the approved arguments; the receipt says what became of it. */
async function invokeApproved(
  found: GatedCall,
  tool: FunctionTool,
  context: RunContext<unknown>,
  details: Details,
  notice: string | null,
): Promise<unknown> {
  const watched = watch(details);
  const text = JSON.stringify(found.started());
  let result: unknown;
  try {
    result = await tool.invoke(context, text, watched.details);
  } catch (error) {
    if (watched.read() === false) found.refused("invalid_args");
    else found.failed(error, details?.signal?.aborted ? "cancelled" : "error");
    throw new ToolFailure("", { cause: error });
  } finally {
    watched.end();
  }
  if (watched.read() === false) {
    found.refused("invalid_args");
    return notice === null ? result : `${tool.name} was not run: it does not take the edited arguments`;
  }
  if (watched.failed() || isErrorText(result)) found.failed(new ToolFailure("tool_error"), "error", "tool_error");
  else found.ended(result);
  if (notice === null) return result;
  const parts: unknown[] = Array.isArray(result) ? result : [result];
  if (parts.every((part) => typeof (part as { type?: unknown } | null)?.type === "string")) {
    return [{ type: "text", text: notice }, ...parts];
  }
  return notice + (typeof result === "string" ? result : JSON.stringify(result));
}

/** The framework makes a text of what a tool throws: only its trace, and a callback that it brings, know better. */
function watch(details: Details): {
  details: Details;
  /** Whether the tool took the arguments; null where that is not known. */
  read: () => boolean | null;
  failed: () => boolean;
  end: () => void;
} {
  let [read, failed]: [boolean | null, boolean] = [null, false];
  const copy = Object.create(
    Object.getPrototypeOf(details ?? {}),
    Object.getOwnPropertyDescriptors(details ?? {}),
  ) as object;
  const heard = Object.getOwnPropertySymbols(copy).find((symbol) => /parsed.?input/i.test(symbol.description ?? ""));
  if (heard !== undefined) {
    read = false;
    const theirs = Reflect.get(copy, heard) as ((input: unknown) => void) | undefined;
    Object.defineProperty(copy, heard, {
      value: (input: unknown) => {
        read = true;
        theirs?.(input);
      },
    });
  }
  const span = getCurrentSpan();
  const setError = span?.setError;
  if (span !== null) {
    span.setError = (error) => {
      failed = true;
      setError?.call(span, error);
    };
  }
  return {
    details: copy as Details,
    read: () => read,
    failed: () => failed,
    end: () => {
      if (span !== null) Reflect.deleteProperty(span, "setError");
    },
  };
}
