/** What is asked: names and meaning are those of protocol, section 2, in camelCase. */
import { snapshot, type Json, type JsonObject } from "./json.js";
import type { Effects, Risk, Verdict } from "./words.js";

type JsonSchema = object;

/** What every kind of request may carry. */
export interface AskFields {
  /** Without one `critical`; a question or a form is `low`. */
  risk?: Risk | undefined;
  title?: string | undefined;
  reason?: string | undefined;
  preview?: string | undefined;
  requestId?: string | undefined;
  /** What differs from the gate's agent for this request; never its name. */
  agent?: Record<string, unknown> | undefined;
  runId?: string | undefined;
  threadId?: string | undefined;
  callId?: string | undefined;
  history?: { role: string; content: unknown }[] | undefined;
  skill?: { name: string; version?: string; path?: string; allowedTools?: string[] } | undefined;
  chain?: { chainId: string; seq: number; maxCalls?: number } | undefined;
  group?: { id: string; index: number; size: number } | undefined;
  confirm?: { setupKey?: string; command?: string; explanation?: string } | undefined;
  allowedVerdicts?: readonly Verdict[] | undefined;
  approvalsRequired?: number | undefined;
  traceparent?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
  native?: Record<string, unknown> | undefined;
}

/** What the framework changes after the gate; shown under the arguments. */
export interface Effective {
  fixed?: Record<string, unknown>;
  defaults?: Record<string, unknown>;
  injectedNames?: string[];
  droppedNames?: string[];
  coerced?: Record<string, unknown>;
}

/** What may be said of every call of a tool: all but its name and arguments. */
export interface ToolCallFields extends AskFields {
  description?: string | undefined;
  namespace?: string | undefined;
  origin?: string | undefined;
  effects?: Effects | undefined;
  argsSchema?: JsonSchema | undefined;
  argsRaw?: string | undefined;
  effective?: Effective | undefined;
  nativeDigest?: { alg: string; value: string } | undefined;
}

/** A call that waits at the gate. The decision is bound to the digest of `args`, which is any JSON value. */
export interface ToolCall<A = unknown> extends ToolCallFields {
  kind?: "tool_call";
  name: string;
  args?: A;
}

/** A question to a person. The answer is `decision.response.content`. */
export interface Question extends AskFields {
  kind: "question";
  text: string;
  context?: string | undefined;
  options?: { key: string; label: string; description?: string }[] | undefined;
  allowFreeform?: boolean | undefined;
}

/** A form: the answer's `content` is valid against `responseSchema`, which the console checks. */
export interface Form extends AskFields {
  kind: "form";
  responseSchema: JsonSchema;
}

export type Ask<A = unknown> = ToolCall<A> | Question | Form;

/** What an agent says about itself in its hello; null takes a part back. */
export interface Introduction {
  tools?: ToolIntroduction[] | null | undefined;
  /** Its setup keys: a list or a map of `bs_*` fields. */
  setupSchema?: object | null | undefined;
  /** Their states and the names of missing values, never a value. */
  credentials?: { toolName: string; artifactId?: string; status: string; missingKeys?: string[] }[] | null | undefined;
  skills?: object | null | undefined;
}

interface ToolIntroduction extends Pick<ToolCall, "name" | "description" | "argsSchema" | "risk" | "origin"> {
  strict?: boolean;
  gated?: boolean;
}

/** One step of a trace (protocol, section 6). A later one with the same ids replaces it. */
export interface Span extends Partial<Record<SpanText, string | undefined>> {
  traceId: string;
  spanId: string;
  name: string;
  kind: "tool" | "llm" | "agent" | "chain" | "retriever" | "embedding" | "approval";
  startedAt: string;
  input?: unknown;
  output?: object[] | undefined;
  artifacts?: object[] | undefined;
  usage?: object | undefined;
  error?: object | undefined;
  attributes?: Record<string, unknown> | undefined;
}

type SpanIds = "parentSpanId" | "runId" | "threadId" | "callId" | "requestId";
type SpanText = SpanIds | "endedAt" | "status" | "toolName" | "argsDigest";

const words = (text: string): string[] => text.split(" ");
const COMMON = words(
  "kind risk title reason preview requestId agent runId threadId callId history skill chain group confirm " +
    "allowedVerdicts approvalsRequired traceparent metadata native",
);
/** Fields that are inside `tool` and `question` on the wire. */
export const NESTED = {
  tool_call: new Set(words("name description namespace origin effects argsSchema")),
  question: new Set(words("text context options allowFreeform")),
  form: new Set<string>(),
};
const FIELDS = {
  tool_call: new Set([...COMMON, ...NESTED.tool_call, ...words("args argsRaw effective nativeDigest")]),
  question: new Set([...COMMON, ...NESTED.question]),
  form: new Set([...COMMON, "responseSchema"]),
};

/** Whose members keep their names: they are the caller's own. */
const OPAQUE = new Set(
  words(
    "args argsSchema responseSchema metadata native fixed defaults coerced setupSchema skills input attributes content",
  ),
);

/** Throws `TypeError` for a field that no call of its kind has: a slip in a name would be lost without a word. */
export function checkFields(ask: Ask): keyof typeof FIELDS {
  const kind = ask.kind ?? "tool_call";
  const known = Object.hasOwn(FIELDS, kind) ? FIELDS[kind] : undefined;
  if (known === undefined) throw new TypeError(`no kind of request: ${String(kind)}`);
  const unknown = Object.keys(ask).filter((name) => !known.has(name));
  if (unknown.length > 0) throw new TypeError(`a ${kind} has no ${unknown.join(", ")}`);
  return kind;
}

/** A name as it is on the wire. */
export function wireName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A copy of a field's value with the names of the wire. Throws `InvalidRequestError` for what has no canonical form. */
export function wireValue(name: string, value: unknown, depth = 2): Json {
  const loose = name === "metadata" || name === "native";
  const copy = snapshot(value, wireName(name), depth, loose);
  return OPAQUE.has(name) ? copy : renamed(copy);
}

function renamed(value: Json): Json {
  if (Array.isArray(value)) return value.map(renamed);
  if (typeof value !== "object" || value === null) return value;
  const found: JsonObject = {};
  for (const [name, item] of Object.entries(value)) found[wireName(name)] = OPAQUE.has(name) ? item : renamed(item);
  return found;
}
