/**
 * One gated call of a framework, from the question to the receipt, shared by the adapters.
 *
 * An adapter says what the call is and what to run; it gets the result, or the words for the model.
 */
import type { Degraded } from "../asking.js";
import type { Ask, ToolCall } from "../calls.js";
import type { Decision } from "../decision.js";
import { argsDigest } from "../digest.js";
import { AlreadyAskedError, CountersignError } from "../errors.js";
import type { Gate } from "../gate.js";
import { kindOf, warn } from "../notices.js";
import { refusalText, responseText } from "../refusal.js";
import { digestOf } from "../verify.js";
import { uuid7 } from "../request.js";
import type { Effects, Risk, Stage } from "../words.js";
import { CallSpan } from "./call-span.js";

const MAX_HISTORY = 10;
const MAX_SAID = 2000;
/** Equal calls with one id that wait at once. */
const MAX_EQUAL = 100;

/** Which calls ask, and what is said of them (integrations, section 1). Globs of tool names, case matters. */
export interface Common {
  /** Default: every name. */
  ask?: readonly string[];
  unasked?: readonly string[];
  /** By globs, the first match in order; `critical` without one. */
  risks?: Readonly<Record<string, Risk>>;
  effects?: Readonly<Record<string, Effects>>;
  /** Seconds, 300 without one; null is 30 days. */
  timeout?: number | null;
}

export class Selection {
  private readonly ask: readonly string[];
  private readonly unasked: readonly string[];
  readonly timeout: number | null;

  /** Throws `TypeError` for a text in the place of a list: its letters would be the globs. */
  constructor(private readonly common: Common = {}) {
    const { ask = ["*"], unasked = [], timeout = 300 } = common;
    if (!Array.isArray(ask) || !Array.isArray(unasked)) {
      throw new TypeError('ask and unasked are lists of globs, such as ["pay_*"]');
    }
    this.ask = [...ask];
    this.unasked = [...unasked];
    this.timeout = timeout;
  }

  asks(name: string): boolean {
    return this.ask.some((glob) => matches(name, glob)) && !this.unasked.some((glob) => matches(name, glob));
  }

  risk(name: string): Risk {
    return firstMatch(name, this.common.risks) ?? "critical";
  }

  effects(name: string): Effects | undefined {
    return firstMatch(name, this.common.effects);
  }
}

function firstMatch<W>(name: string, words: Readonly<Record<string, W>> = {}): W | undefined {
  return Object.entries(words).find(([glob]) => matches(name, glob))?.[1];
}

/** As Python's `fnmatch` reads globs: `*`, `?`, `[a-z]` and `[!a-z]`. */
export function matches(name: string, glob: string): boolean {
  const pattern = glob.replace(/\[(!?)(\]?[^\]]*)\]|[*?]|[\\^$+.()|{}[\]]/g, (part, not: string, set?: string) => {
    if (part === "*") return ".*";
    if (part === "?") return ".";
    return set ? `[${not ? "^" : ""}${set.replace(/[\\\]^]/g, "\\$&")}]` : `\\${part}`;
  });
  return new RegExp(`^${pattern}$`, "s").test(name);
}

/** What became of a question: `allowed` with `args`, or `words` that the model reads. */
export interface Answer {
  readonly allowed: boolean;
  readonly args: unknown;
  readonly words: string;
  readonly verdict: string;
  readonly decision: Decision | null;
  readonly error: unknown;
}

/** `degraded` of an answer: `words`, `edit` for an edited call, and `message` for a text beside a yes. */
export function notHonoured(decision: Decision, edit?: string | null, ...words: string[]): string[] | null {
  const found = [...words];
  if (edit && decision.verdict === "modify") found.push(edit);
  if (decision.allowed && decision.message) found.push("message");
  return found.length > 0 ? found : null;
}

/** The same where nobody reports what became of an allowed call. */
export function unreported(decision: Decision): string[] | null {
  return notHonoured(decision, null, ...(decision.allowed ? ["no_execution_report"] : []));
}

export interface GatedOptions {
  timeout: number | null;
  /** Makes the ask resumable on a gate with a journal; without one it is that of thread, call id and arguments. */
  key?: string;
  /** Where the program makes the call ids: an equal call is then the same one. */
  uniqueIds?: boolean;
  degraded?: Degraded;
  signal?: AbortSignal | undefined;
}

/** One call: `ask`, then `run` (or `started`, and `ended` or `failed`, where the framework runs it). */
export class GatedCall {
  answer: Answer | null = null;
  /** Of the arguments that the framework says it ran with, where it runs the call itself. */
  ranDigest: string | null = null;
  readonly span: CallSpan;

  constructor(
    readonly gate: Gate,
    readonly call: Ask,
    readonly name: string,
    private readonly options: GatedOptions,
  ) {
    const { callId, runId, threadId } = call;
    this.span = new CallSpan(gate, name, { callId, runId, threadId }, isTool(call) ? { args: call.args } : null);
  }

  /** Asks and waits. Throws nothing but the reason of an abort, which withdraws the request. */
  async ask(): Promise<Answer> {
    const { call } = this;
    call.traceparent ??= this.span.traceparent;
    const keyed = this.options.key !== undefined || (call.threadId && call.callId);
    // Known before it is published, so that the waiting span has it. One with a key may be there already.
    if (!this.gate.hasJournal || !keyed) call.requestId ??= uuid7();
    this.span.waiting(call.requestId);
    let decision: Decision;
    try {
      decision = await this.decision();
    } catch (error) {
      if (this.options.signal?.aborted) {
        this.span.end("cancelled");
        throw error;
      }
      if (!(error instanceof CountersignError)) warn(`could not ask about ${this.name}: ${kindOf(error)}`);
      this.span.failed(error);
      this.answer = refusedBy(this.name, error);
      return this.answer;
    }
    const { allowed, verdict, requestId } = decision;
    this.answer = {
      allowed,
      args: decision.args,
      words: refusalText(this.name, decision),
      verdict,
      decision,
      error: null,
    };
    if (verdict === "respond") {
      this.span.set({ requestId, attributes: { "countersign.responded": true } });
      this.span.succeeded(responseText(decision));
    } else if (allowed) {
      this.span.set({ requestId });
    } else {
      this.span.answered(decision);
    }
    return this.answer;
  }

  private async decision(): Promise<Decision> {
    const { call, options } = this;
    const { timeout, signal, degraded = notHonoured } = options;
    const ask = (key?: string): Promise<Decision> =>
      this.gate.ask(call, { timeout, signal, key, degraded: (decision) => degraded(decision) });
    if (options.key !== undefined || !this.gate.hasJournal || !call.threadId || !call.callId) return ask(options.key);
    const own = `${call.threadId}/${call.callId}/${isTool(call) ? argsDigest(call.args) : ""}`;
    // A model's server may give all calls one id: an equal call beside one that waits is another one.
    const most = options.uniqueIds || call.requestId ? 1 : MAX_EQUAL;
    for (let number = 1; ; number += 1) {
      try {
        return await ask(number === 1 ? own : `${own}/${number}`);
      } catch (error) {
        const waits = error instanceof AlreadyAskedError && error.code === "already_waiting";
        if (!waits || number >= most) throw error;
      }
    }
  }

  /** Runs the allowed call with a private copy of the approved arguments; receipts and span follow it. */
  async run<R>(work: (args: unknown) => R | Promise<R>): Promise<R> {
    const args = this.started();
    try {
      const result = await work(args);
      this.ended(result);
      return result;
    } catch (error) {
      this.failed(error, this.options.signal?.aborted ? "cancelled" : "error");
      throw error;
    }
  }

  /** The call starts now: the arguments with which it runs. */
  started(): unknown {
    if (this.answer === null || !this.answer.allowed) throw new TypeError(`${this.name} was not allowed`);
    this.span.running({ args: this.answer.args });
    return structuredClone(this.answer.args);
  }

  /** The call returned. */
  ended(result: unknown): void {
    this.span.succeeded(result);
    this.receipt("executed");
  }

  /** The call threw. */
  failed(error: unknown, status = "error", message = kindOf(error)): void {
    this.span.failed(error, status);
    this.receipt("failed", message);
  }

  /** The allowed call does not start after all: `not_started`, `digest_differs` or `invalid_args`. */
  refused(code: string): void {
    if (this.answer !== null) this.answer = { ...this.answer, allowed: false };
    this.span.end("error", { error: { type: "refused", code } });
    this.receipt("refused", code);
  }

  /** Whether these are exactly the approved arguments. Where they are not, the receipt says so. */
  mayRun(args: unknown): boolean {
    const digest = digestOf(args);
    if (this.answer?.allowed && digest !== null && digest === digestOf(this.answer.args)) return true;
    this.refused("digest_differs");
    return false;
  }

  private receipt(stage: Stage, message?: string): void {
    const decision = this.answer?.decision;
    if (!decision) return;
    const executedArgsDigest = stage === "refused" ? null : (this.ranDigest ?? decision.argsDigest);
    try {
      this.gate.receiptLater(decision, stage, { executedArgsDigest, message });
    } catch (error) {
      warn(`the receipt of ${this.name} was not sent: ${kindOf(error)}`);
    }
  }
}

/** The answer where nobody could be asked. */
export function refusedBy(name: string, error: unknown): Answer {
  return { allowed: false, args: null, words: refusalText(name, error), verdict: "error", decision: null, error };
}

export function isTool(call: Ask): call is ToolCall {
  return call.kind === undefined || call.kind === "tool_call";
}

/** `group` of a call of one model turn (`id` names it), counted from 0; nothing where it is the only one. */
export function group(
  id: string,
  index: number,
  size: number,
): { id: string; index: number; size: number } | undefined {
  return size > 1 && index >= 0 ? { id, index, size } : undefined;
}

/** `argsRaw`: the model's text, where it has other bytes than the arguments' JSON. */
export function rawText(text: string, args: unknown): string | undefined {
  return text === "" || text === JSON.stringify(args) ? undefined : text;
}

/** The last messages of a conversation, as role and text, for the card's `history`. */
export function lastMessages(said: Iterable<[string, unknown]>): { role: string; content: string }[] | undefined {
  const found = [...said]
    .map(([role, content]) => ({ role, content: textOf(content).slice(0, MAX_SAID).toWellFormed() }))
    .filter(({ content }) => content !== "");
  return found.length > 0 ? found.slice(-MAX_HISTORY) : undefined;
}

/** The texts of a message's content, whatever a framework makes of it. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content === undefined || content === null ? "" : jsonOf(content);
  return content
    .map((part: unknown) => {
      const text = (part as { text?: unknown } | null)?.text;
      return typeof text === "string" ? text : jsonOf(part);
    })
    .join("\n");
}

export function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

/** Calls of one turn start together: what starts in one turn of the event loop is one group. */
export class Turns {
  private readonly started = new WeakMap<object, { id: string; size: number }>();

  async place(turn: object | undefined): Promise<{ id: string; index: number; size: number } | undefined> {
    if (turn === undefined) return undefined;
    const found = this.started.get(turn) ?? { id: crypto.randomUUID(), size: 0 };
    this.started.set(turn, found);
    const index = found.size;
    found.size += 1;
    await new Promise((resolve) => setImmediate(resolve));
    this.started.delete(turn);
    return group(found.id, index, found.size);
  }
}
