/** The span of one tool call (systems, 0.4), shared by the adapters. A span decides nothing and never throws. */
import { createHash, randomBytes } from "node:crypto";

import type { Span } from "../calls.js";
import { rfc3339 } from "../clock.js";
import type { Decision } from "../decision.js";
import { argsDigest } from "../digest.js";
import { CountersignError } from "../errors.js";
import type { Gate } from "../gate.js";
import { kindOf, note } from "../notices.js";

const MAX_TEXT = 64 * 1024;
const MAX_PART = 256 * 1024;

/** How a call's span ends by the answer; every other word is `denied`. */
const STATUS = new Map([
  ["approve", "ok"],
  ["modify", "ok"],
  ["respond", "ok"],
  ["skip", "cancelled"],
  ["withdrawn", "cancelled"],
  ["expired", "timeout"],
  ["rejected", "error"],
]);

type Ids = Pick<Span, "callId" | "runId" | "threadId">;

/** One step of a trace: sent when it begins, and whole again at each change. */
export class CallSpan {
  private span: Span;

  /** `given` has the arguments; null where nobody knows them. It joins the active span of OpenTelemetry. */
  constructor(
    private readonly gate: Gate,
    name: string,
    ids: Ids,
    given: { args: unknown } | null,
  ) {
    const outer = activeSpan();
    this.span = {
      traceId: outer?.traceId ?? randomBytes(16).toString("hex"),
      spanId: randomBytes(8).toString("hex"),
      parentSpanId: outer?.spanId,
      name: name.slice(0, 200),
      kind: "tool",
      toolName: name,
      status: "running",
      startedAt: rfc3339(Date.now()),
      ...ids,
    };
    if (given !== null) this.input(given.args);
  }

  /** W3C trace context that makes this span the parent of the request. */
  get traceparent(): string {
    return `00-${this.span.traceId}-${this.span.spanId}-01`;
  }

  /** A person is asked. */
  waiting(requestId: string | undefined): void {
    this.send({ status: "waiting", requestId });
  }

  /** The call starts, with these arguments (the approved ones after an edit). */
  running(given: { args: unknown }): void {
    this.input(given.args);
    this.send({ status: "running" });
  }

  /** The call does not run: the span ends as the answer says. */
  answered(decision: Decision): void {
    this.end(STATUS.get(decision.verdict) ?? "denied", { requestId: decision.requestId });
  }

  /** The call returned. */
  succeeded(result: unknown): void {
    this.end("ok", output(result));
  }

  /** The call, or asking about it, threw. */
  failed(error: unknown, status = "error"): void {
    const message = error instanceof Error ? error.message.slice(0, MAX_TEXT) : "";
    const code = error instanceof CountersignError ? { code: error.code } : {};
    this.end(status, { error: { type: kindOf(error), message, ...code } });
  }

  /** The last word of this span. */
  end(status: string, more: Partial<Span> = {}): void {
    this.send({ status, endedAt: rfc3339(Date.now()), ...more });
  }

  /** Fields for the next send. */
  set(more: Partial<Span>): void {
    this.span = { ...this.span, ...more };
  }

  private send(more: Partial<Span>): void {
    this.set(more);
    try {
      this.gate.span(this.span);
    } catch (error) {
      // A span may be lost, the call may not.
      note(`a span was not sent: ${kindOf(error)}`);
    }
  }

  private input(args: unknown): void {
    try {
      const small = JSON.stringify(args).length <= MAX_TEXT;
      this.set({ argsDigest: argsDigest(args), input: small ? args : undefined });
    } catch {
      this.set({ input: undefined });
    }
  }
}

/** A result as parts of a span: a text that is cut, or what identifies a large part. */
function output(result: unknown): Partial<Span> {
  let text: string | undefined;
  try {
    text = typeof result === "string" ? result : JSON.stringify(result);
  } catch {
    return {};
  }
  if (text === undefined) return {};
  if (typeof result === "string" || text.length <= MAX_PART) {
    return { output: [{ mType: "text", mContent: text.slice(0, MAX_TEXT).toWellFormed() }] };
  }
  const sha256 = createHash("sha256").update(text).digest("hex");
  return { artifacts: [{ mimeType: "application/json", sha256, size: Buffer.byteLength(text) }] };
}

interface OpenTelemetry {
  context?: { active?: () => { getValue?: (key: symbol) => unknown } };
}

/** OpenTelemetry's active span, by the place where its API registers itself: it need not be installed. */
function activeSpan(): { traceId: string; spanId: string } | null {
  const api = (globalThis as Record<symbol, unknown>)[Symbol.for("opentelemetry.js.api.1")] as
    | OpenTelemetry
    | undefined;
  const found = api?.context?.active?.().getValue?.(Symbol.for("OpenTelemetry Context Key SPAN"));
  const context = (found as { spanContext?: () => { traceId: string; spanId: string } } | undefined)?.spanContext?.();
  return context !== undefined && !/^0*$/.test(context.traceId) ? context : null;
}
