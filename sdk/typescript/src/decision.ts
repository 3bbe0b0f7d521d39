/** A verified answer, as `ask` returns it. */
import { member, writtenMember, type JsonObject } from "./json.js";
import type { StoredMessage } from "./log.js";
import type { Answer } from "./words.js";

interface Answered {
  /** One of protocol section 5; unknown words read `deny`. */
  readonly verdict: Answer;
  readonly requestId: string;
  /** Null where nobody answered in time. */
  readonly decisionId: string | null;
  readonly origin: string;
  /** What the operator tells the agent. */
  readonly message: string | null;
  readonly response: { readonly content: unknown; readonly selectedKey?: string } | null;
  readonly decidedBy: { readonly name: string; readonly key: string } | null;
  /** The server's time stamp. */
  readonly storedAt: Date | null;
  readonly sequence: number | null;
  /** The decision as it was signed; empty where nobody answered in time. */
  readonly payload: JsonObject;
}

/** The call may run, with `args` and nothing else: a private copy whose digest is `argsDigest`. */
export interface AllowedDecision<A = unknown> extends Answered {
  readonly allowed: true;
  readonly args: A;
  readonly argsDigest: string | null;
}

/** The call must not run. */
export interface RefusedDecision extends Answered {
  readonly allowed: false;
  readonly args: null;
  readonly argsDigest: null;
}

/** Only `allowed` says that the call may run. The answer itself is an object, so always true: look at `allowed`. */
export type Decision<A = unknown> = AllowedDecision<A> | RefusedDecision;

/** The texts of decisions, for what is said in the order and with the numbers of the decision. */
const texts = new WeakMap<Decision, string>();

/** Nobody decided: the agent's own `expired` or `withdrawn`. */
export function unanswered(requestId: string, verdict: Answer, origin: string): RefusedDecision {
  const nobody = { decisionId: null, message: null, response: null, decidedBy: null, storedAt: null, sequence: null };
  return { allowed: false, args: null, argsDigest: null, verdict, requestId, origin, payload: {}, ...nobody };
}

/** What may run: the arguments and their digest. */
export interface Runnable {
  readonly value: unknown;
  readonly digest: string | null;
}

/** The answer of a decision that verified. `args` is null where it does not let the call run. */
export function answered(
  { payload, sequence }: StoredMessage,
  storedAt: number,
  body: JsonObject,
  verdict: Answer,
  args: Runnable | null,
  given: JsonObject | null,
): Decision {
  const selected = member(given, "selected_key");
  const response = given && { content: given["content"], ...(selected && { selectedKey: String(selected) }) };
  const common = {
    verdict,
    requestId: String(body["request_id"]),
    decisionId: String(body["decision_id"]),
    origin: String(body["origin"]),
    message: (member(body, "message") ?? null) as string | null,
    response,
    decidedBy: structuredClone(body["decided_by"]) as Answered["decidedBy"],
    storedAt: new Date(storedAt),
    sequence,
    payload: body,
  };
  const refused = { allowed: false, args: null, argsDigest: null } as const;
  const decision: Decision = {
    ...common,
    ...(args === null ? refused : ({ allowed: true, args: args.value, argsDigest: args.digest } as const)),
  };
  texts.set(decision, Buffer.from(payload).toString());
  return decision;
}

/** The JSON text of `path` in the decision, as it was signed; null where it has none. */
export function writtenIn(decision: Decision, ...path: string[]): string | null {
  const whole = texts.get(decision) ?? null;
  return path.reduce((source: string | null, name) => (source === null ? null : writtenMember(source, name)), whole);
}
