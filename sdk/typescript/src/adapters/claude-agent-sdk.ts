/** The gate of the Claude Agent SDK (integrations, section 6): a hook before each tool call, and the permission callback. */
import type {
  CanUseTool,
  HookCallback,
  HookCallbackMatcher,
  HookEvent,
  HookInput,
  HookJSONOutput,
  PermissionResult,
} from "@anthropic-ai/claude-agent-sdk";

import type { Ask } from "../calls.js";
import type { Gate } from "../gate.js";
import { member } from "../json.js";
import { kindOf, warn } from "../notices.js";
import { decidedBy, editNotice } from "../refusal.js";
import { digestOf } from "../verify.js";
import type { Verdict } from "../words.js";
import { answeredQuestions, questionForm, QUESTIONS } from "./claude-questions.js";
import { GatedCall, notHonoured, refusedBy, Selection, unreported, type Answer, type Common } from "./gating.js";

export type { Common } from "./gating.js";

/** Claude Code's tools that only read; they do not ask unless `unasked` says otherwise. */
export const READ_ONLY = ["Read", "Glob", "Grep", "LS", "NotebookRead", "TodoWrite", "ToolSearch"];

const VERDICTS: readonly Verdict[] = ["approve", "modify", "deny", "skip", "terminate"];
const HOOK_EXTRA = 30;
/** Seconds: Claude Code's timers end at once beyond 2^31 ms, and a hook that times out lets the call through. */
const LONGEST = 2_000_000;
const KNOWN = ["cwd", "permission_mode", "agent_id", "agent_type"] as const;

/** What a hook hears of a call. */
type Heard = Record<string, unknown>;

/** What goes into the options of `query`: keep your own hooks beside ours. */
export interface ClaudeGate {
  readonly canUseTool: CanUseTool;
  readonly hooks: Partial<Record<HookEvent, HookCallbackMatcher[]>>;
}

/**
 * Asks about the tool calls of Claude Code sessions: `query({ prompt, options: { ...claudeGate(gate) } })`. The hook sees
 * every call, also those that settings allow; `canUseTool` only what Claude Code would have asked itself. A call is
 * asked once. A callback never throws.
 */
export function claudeGate(gate: Gate, common: Common = {}): ClaudeGate {
  const sessions = new Sessions(gate, common);
  const after: HookCallbackMatcher = { hooks: [sessions.after] };
  return {
    canUseTool: sessions.canUseTool,
    hooks: {
      PreToolUse: [{ hooks: [sessions.before], timeout: sessions.timeout + HOOK_EXTRA, onFailure: "block" }],
      PostToolUse: [after],
      PostToolUseFailure: [after],
      Stop: [after],
      SubagentStop: [after],
      SessionEnd: [after],
    },
  };
}

class Sessions {
  readonly timeout: number;
  private readonly selection: Selection;
  /** Hook inputs of calls that are unasked so far, by tool use. */
  private readonly seen = new Map<string, Heard>();
  /** Allowed calls whose end was not reported, by tool use. */
  private readonly allowed = new Map<string, { about: Heard; call: GatedCall }>();

  constructor(
    private readonly gate: Gate,
    common: Common,
  ) {
    this.selection = new Selection({ unasked: READ_ONLY, ...common });
    this.timeout = Math.min(this.selection.timeout ?? LONGEST, LONGEST);
  }

  /** The hook before a call: what goes wrong is a denial. */
  readonly before: HookCallback = async (input, toolUseId, { signal }) => {
    const about = { ...input } as Heard;
    const name = String(about["tool_name"]);
    try {
      const id = toolUseId ?? String(about["tool_use_id"]);
      if (!this.selection.asks(name)) {
        this.seen.set(id, about);
        return {};
      }
      const answer = await this.ask(name, about["tool_input"], about, id, false, signal);
      return answer.allowed ? allowance(answer) : denial(answer);
    } catch (error) {
      warn(`a hook failed: ${kindOf(error)}`);
      return denial(refusedBy(name, error));
    }
  };

  /** The permission callback: what Claude Code would have asked itself. */
  readonly canUseTool: CanUseTool = async (name, input, { toolUseID, signal }): Promise<PermissionResult> => {
    try {
      const known = this.allowed.get(toolUseID);
      if (known !== undefined) {
        // A rule of the settings asks about what the hook allowed.
        if (known.call.mayRun(input)) return { behavior: "allow", updatedInput: input };
        this.allowed.delete(toolUseID);
        return { behavior: "deny", message: `${name} was not run: it has other arguments than were approved` };
      }
      const about = this.seen.get(toolUseID) ?? null;
      this.seen.delete(toolUseID);
      const { allowed, args, words, verdict } = await this.ask(name, input, about, toolUseID, true, signal);
      if (allowed) return { behavior: "allow", updatedInput: args as Record<string, unknown> };
      return { behavior: "deny", message: words, interrupt: verdict === "terminate" };
    } catch (error) {
      warn(`the permission callback failed: ${kindOf(error)}`);
      return { behavior: "deny", message: refusedBy(name, error).words };
    }
  };

  /** The hook after a call, and at the end of a session's or a subagent's turn. */
  readonly after: HookCallback = async (input, toolUseId) => {
    try {
      if ("tool_use_id" in input) this.ended(toolUseId ?? input.tool_use_id, input);
      else this.stopped(input);
    } catch (error) {
      warn(`a call's end was not reported: ${kindOf(error)}`);
    }
    return {};
  };

  /** Asks; an allowed call is kept until its end is reported. `about` is what the hook heard of it. */
  private async ask(
    name: string,
    args: unknown,
    about: Heard | null,
    callId: string,
    prompted: boolean,
    signal: AbortSignal,
  ): Promise<Answer> {
    const call = { ...this.card(name, args, about ?? {}), callId };
    const found = new GatedCall(this.gate, call, name, {
      timeout: this.timeout,
      uniqueIds: true,
      degraded: (decision) =>
        about === null ? unreported(decision) : notHonoured(decision, prompted ? "edit_notice" : null),
      signal,
    });
    let answer = await found.ask();
    const filled = answer.verdict === "respond" ? answeredQuestions(args, answer.decision?.response?.content) : null;
    if (filled !== null) answer = found.answer = { ...answer, allowed: true, args: filled };
    else if (answer.allowed) found.started();
    if (answer.allowed && about !== null) this.allowed.set(callId, { about, call: found });
    return answer;
  }

  private card(name: string, args: unknown, about: Heard): Ask {
    const native = Object.fromEntries(KNOWN.flatMap((key) => (about[key] ? [[key, about[key]]] : [])));
    const common = {
      agent: { framework: "claude-agent-sdk" },
      threadId: about["session_id"] === undefined ? undefined : String(about["session_id"]),
      native: Object.keys(native).length > 0 ? native : undefined,
    };
    if (name === QUESTIONS) {
      const { title, schema } = questionForm(args);
      return { kind: "form", title, responseSchema: schema, ...common };
    }
    const namespace = /^mcp__(.+?)__/.exec(name)?.[1];
    const reason = member(args, "description");
    return {
      name,
      args,
      risk: this.selection.risk(name),
      effects: this.selection.effects(name),
      origin: namespace === undefined ? undefined : "mcp",
      namespace,
      reason: typeof reason === "string" && reason !== "" ? reason : undefined,
      allowedVerdicts: VERDICTS,
      ...common,
    };
  }

  private ended(callId: string, input: HookInput): void {
    this.seen.delete(callId);
    const call = this.allowed.get(callId)?.call;
    this.allowed.delete(callId);
    if (call === undefined) return;
    call.ranDigest = digestOf(member(input, "tool_input"));
    if (input.hook_event_name === "PostToolUse") call.ended(input.tool_response);
    else
      call.failed(new TypeError(member(input, "is_interrupt") ? "interrupted" : "tool_error"), "error", "tool_error");
  }

  /** What was allowed and did not run by now: a rule of the settings denies it. */
  private stopped(input: HookInput): void {
    const ends = input.hook_event_name === "SessionEnd";
    const ofIt = (about: Heard): boolean =>
      about["session_id"] === input.session_id && (ends || about["agent_id"] === member(input, "agent_id"));
    for (const [id, { about, call }] of this.allowed) {
      if (!ofIt(about)) continue;
      this.allowed.delete(id);
      call.refused("not_started");
    }
    for (const [id, about] of this.seen) if (ofIt(about)) this.seen.delete(id);
  }
}

function allowance({ args, verdict, decision }: Answer): HookJSONOutput {
  const who = decision === null ? "" : decidedBy(decision);
  return {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "allow",
      permissionDecisionReason: `${verdict === "respond" ? "answered" : "approved"} by ${who}`,
      // Named whatever a person did: a hook beside this one may have named others.
      updatedInput: args as Record<string, unknown>,
      ...(verdict === "modify" && decision !== null && { additionalContext: editNotice(decision).trimEnd() }),
    },
  };
}

function denial({ words, verdict }: Answer): HookJSONOutput {
  return {
    ...(verdict === "terminate" && { continue: false, stopReason: words }),
    hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: words },
  };
}
