/** Tools of the Vercel AI SDK and of Mastra that ask before they run, with the approved arguments and no others. */
import type { ToolCall } from "../calls.js";
import { ArgumentsChangedError, NotAllowedError } from "../errors.js";
import type { Gate } from "../gate.js";
import { editNotice, responseText } from "../refusal.js";
import { digestOf } from "../verify.js";
import type { Verdict } from "../words.js";
import { GatedCall, notHonoured, Turns, type Selection } from "./gating.js";
import { jsonSchemaOf, validated } from "./schemas.js";

const VERDICTS: readonly Verdict[] = ["approve", "modify", "deny", "skip", "respond"];
/** Notices that a model has still to read. */
const MAX_NOTICES = 1000;

/** A tool as both frameworks have it. */
export interface AnyTool {
  description?: unknown;
  inputSchema?: unknown;
  execute?: unknown;
  toModelOutput?: unknown;
}

/** What a framework says of a call beside its arguments. */
export interface CallAbout {
  callId?: string | undefined;
  threadId?: string | undefined;
  runId?: string | undefined;
  history?: ToolCall["history"];
  signal?: AbortSignal | undefined;
  /** The same object for the calls of one turn. */
  turn?: object | undefined;
}

type Execute = (input: unknown, options: unknown) => unknown;

/** What differs between the frameworks. */
export interface Framework {
  readonly agent: { framework: string; frameworkVersion?: string };
  about(options: unknown): CallAbout;
  /** What a copy of the tool has in the place of the framework's own question. */
  readonly unasked: object;
  /** Whether the model can be told of an edit before the result, and how. */
  tell?(tool: AnyTool, notices: Map<string, string>): object;
}

/** The same tools; those that ask are copies. A tool without `execute` runs elsewhere and comes back as it is. */
export function gatedTools<T extends Record<string, AnyTool>>(
  gate: Gate,
  tools: T,
  selection: Selection,
  framework: Framework,
): T {
  const turns = new Turns();
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      if (typeof tool.execute !== "function" || !selection.asks(name)) return [name, tool];
      return [name, gatedTool(gate, name, tool, tool.execute.bind(tool) as Execute, selection, framework, turns)];
    }),
  ) as T;
}

function gatedTool(
  gate: Gate,
  name: string,
  tool: AnyTool,
  execute: Execute,
  selection: Selection,
  framework: Framework,
  turns: Turns,
): AnyTool {
  const notices = new Map<string, string>();
  const asking = async (input: unknown, options: unknown): Promise<unknown> => {
    const { signal, turn, history, callId, threadId, runId } = framework.about(options);
    const call: ToolCall = {
      name,
      args: input,
      argsSchema: await jsonSchemaOf(tool.inputSchema),
      description: typeof tool.description === "string" ? tool.description : undefined,
      risk: selection.risk(name),
      effects: selection.effects(name),
      allowedVerdicts: VERDICTS,
      agent: framework.agent,
      history,
      callId,
      threadId,
      runId,
      group: await turns.place(turn),
    };
    const unnoticed = framework.tell === undefined || callId === undefined ? "edit_notice" : null;
    const gated = new GatedCall(gate, call, name, {
      timeout: selection.timeout,
      degraded: (decision) => notHonoured(decision, unnoticed),
      signal,
    });
    const answer = await gated.ask();
    const { decision } = answer;
    if (answer.verdict === "respond" && decision !== null) return decision.response?.content ?? responseText(decision);
    if (!answer.allowed) throw new NotAllowedError(answer.words, answer.verdict, decision);
    if (answer.verdict === "modify" && decision !== null) {
      await checkEdit(gated, name, tool);
      if (callId !== undefined) keep(notices, callId, editNotice(decision));
    }
    return gated.run(async (args) => lastOf(await execute(args, options)));
  };
  const told = framework.tell?.(tool, notices) ?? {};
  // A tool may be an object of a class, whose getters the copy keeps.
  const copy = Object.create(Object.getPrototypeOf(tool), Object.getOwnPropertyDescriptors(tool)) as AnyTool;
  for (const [key, value] of Object.entries({ execute: asking, ...framework.unasked, ...told })) {
    Object.defineProperty(copy, key, { value, enumerable: true, writable: true, configurable: true });
  }
  return copy;
}

/** An edit runs as edited or not at all: what the tool's schema refuses, or changes, does not run. */
async function checkEdit(gated: GatedCall, name: string, tool: AnyTool): Promise<void> {
  const args = gated.answer?.args;
  const found = await validated(tool.inputSchema, structuredClone(args));
  if (found.issues !== null) {
    gated.refused("invalid_args");
    throw new ArgumentsChangedError(
      `${name} was not run: it does not take the edited arguments: ${found.issues}`,
      "invalid_args",
    );
  }
  if (digestOf(found.value) !== digestOf(args)) {
    gated.refused("digest_differs");
    throw new ArgumentsChangedError(`${name} was not run: it would change the edited arguments`);
  }
}

/** A stream of results ends with the one that counts. */
async function lastOf(result: unknown): Promise<unknown> {
  if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result)) return result;
  let last: unknown;
  for await (const part of result as AsyncIterable<unknown>) last = part;
  return last;
}

function keep(notices: Map<string, string>, callId: string, notice: string): void {
  notices.set(callId, notice);
  const [oldest] = notices.keys();
  if (notices.size > MAX_NOTICES && oldest !== undefined) notices.delete(oldest);
}
