/** The interruptions of an OpenAI agent's run: asked about, answered in its state, and followed by listeners. */
import { getCurrentSpan, type Agent, type RunState, type RunToolApprovalItem } from "@openai/agents";

import type { ToolCall } from "../calls.js";
import type { Gate } from "../gate.js";
import {
  GatedCall,
  group,
  jsonOf,
  lastMessages,
  notHonoured,
  rawText,
  refusedBy,
  textOf,
  unreported,
  type Selection,
} from "./gating.js";

export type AnyState = RunState<any, any>; // oxlint-disable-line no-explicit-any

/** A call of the framework, as far as it is read here. */
interface RawItem {
  type?: string;
  name?: string;
  callId?: string;
  id?: string;
  arguments?: string;
  action?: unknown;
  operation?: unknown;
  namespace?: string;
  providerData?: { serverLabel?: string; server_label?: string };
}

/** Asks about every interruption, all at once, and writes the answers into the state. */
export async function answerAll(
  gate: Gate,
  state: AnyState,
  threadId: string,
  selection: Selection,
  receipts: Receipts | null,
): Promise<void> {
  const items = state.getInterruptions();
  await Promise.all(
    items.map(async (item, index) => {
      const name = item.name ?? "tool";
      const raw = item.rawItem as RawItem;
      let args: unknown;
      try {
        args = argumentsOf(raw);
      } catch {
        state.reject(item, { message: `${name} was not run: its arguments are not JSON` });
        return;
      }
      try {
        // Nobody hears of what runs at the provider.
        const reported = receipts !== null && raw.type !== "hosted_tool_call";
        const call: ToolCall = {
          ...cardOf(state, item, raw),
          name,
          args,
          threadId,
          risk: selection.risk(name),
          group: group(callIdOf(items[0]?.rawItem as RawItem) ?? threadId, index, items.length),
        };
        const degraded = reported ? notHonoured : unreported;
        const found = new GatedCall(gate, call, name, { timeout: selection.timeout, degraded });
        const { allowed, words } = await found.ask();
        if (!allowed) state.reject(item, { message: words });
        else {
          if (reported) receipts.follow(found, item.agent);
          state.approve(item);
        }
      } catch (error) {
        state.reject(item, { message: refusedBy(name, error).words });
      }
    }),
  );
}

function callIdOf(raw: RawItem | undefined): string | undefined {
  return raw?.callId ?? raw?.id;
}

/** Throws for what is not JSON. */
function argumentsOf(raw: RawItem): unknown {
  if (raw.action !== undefined || raw.operation !== undefined) return raw.action ?? raw.operation;
  return raw.arguments ? JSON.parse(raw.arguments) : {};
}

/** What the state knows of the call; it keeps most of that to itself, so that each part may be missing. */
function cardOf(state: AnyState, item: RunToolApprovalItem, raw: RawItem): Partial<ToolCall> {
  const tools = (item.agent as { tools?: { name?: string; description?: string; parameters?: object }[] }).tools ?? [];
  const tool = tools.find(({ name }) => name === item.name);
  const server = raw.providerData?.serverLabel ?? raw.providerData?.server_label;
  const answer = state._modelResponses?.at(-1)?.output ?? [];
  const reason = (answer as { type?: string; content?: unknown }[])
    .filter(({ type }) => type === "message")
    .map(({ content }) => textOf(content))
    .join("\n");
  const input: unknown = state._originalInput;
  const before = typeof input === "string" ? [{ role: "user", content: input }] : Array.isArray(input) ? input : [];
  const made = (state._generatedItems ?? []).map(({ rawItem }) => rawItem as unknown);
  return {
    description: tool?.description || undefined,
    argsSchema: tool?.parameters,
    argsRaw: raw.arguments === undefined ? undefined : rawText(raw.arguments, argumentsOf(raw)),
    origin: server === undefined ? undefined : "mcp",
    namespace: server ?? raw.namespace,
    allowedVerdicts: ["approve", "deny", "skip"],
    agent: { framework: "openai-agents" },
    callId: callIdOf(raw),
    reason: reason || undefined,
    history: lastMessages([...before, ...made].map(said)),
  };
}

function said(item: unknown): [string, unknown] {
  const { role, type, name, arguments: args, content, output } = (item ?? {}) as Record<string, unknown>;
  if (type === "function_call") return ["assistant", `${String(name)}(${String(args)})`];
  if (output !== undefined) return ["tool", typeof output === "string" ? output : jsonOf(output)];
  return [typeof role === "string" ? role : "assistant", content];
}

interface Ended {
  toolCall?: RawItem;
}

type AnyAgent = Agent<any, any>; // oxlint-disable-line no-explicit-any

/** What became of the calls that were allowed. */
export class Receipts {
  private waiting: GatedCall[] = [];
  private started: GatedCall[] = [];
  private readonly heard = new Map<AnyAgent, () => void>();

  /** This call was approved and will run, as its agent will say. */
  follow(found: GatedCall, agent: AnyAgent): void {
    this.waiting.push(found);
    if (this.heard.has(agent)) return;
    const started = (_: unknown, __: unknown, details: Ended): void => {
      const call = take(this.waiting, details);
      if (call === null) return;
      call.started();
      this.started.push(call);
    };
    const over = (_: unknown, __: unknown, result: unknown, details: Ended): void => {
      const call = take(this.started, details);
      // The framework makes a text of what a tool throws; only its trace knows.
      if (call !== null && (getCurrentSpan()?.error || isErrorText(result)))
        call.failed(new TypeError("tool_error"), "error", "tool_error");
      else call?.ended(result);
    };
    agent.on("agent_tool_start", started as never);
    agent.on("agent_tool_end", over as never);
    this.heard.set(agent, () => {
      agent.off("agent_tool_start", started as never);
      agent.off("agent_tool_end", over as never);
    });
  }

  /** The run ended or interrupts again: what was allowed and did not start will not. */
  close(error: unknown): void {
    for (const call of this.started) call.failed(error ?? new TypeError("no end was reported"));
    for (const call of this.waiting) call.refused("not_started");
    for (const end of this.heard.values()) end();
    this.waiting = [];
    this.started = [];
    this.heard.clear();
  }
}

function take(calls: GatedCall[], details: Ended | undefined): GatedCall | null {
  const at = calls.findIndex(({ call }) => call.callId === callIdOf(details?.toolCall));
  return at < 0 ? null : (calls.splice(at, 1)[0] ?? null);
}

/** What the framework says to the model where a tool threw and has no words of its own. */
export function isErrorText(result: unknown): boolean {
  return typeof result === "string" && result.startsWith("An error occurred while running the tool.");
}
