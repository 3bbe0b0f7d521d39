/**
 * A request exactly as published: what a decision is judged against.
 *
 * Refuses ids, lifetimes, sizes and JSON that a console would reject, before anything is sent. Never invents a field
 * that the caller did not give.
 */
import { randomBytes } from "node:crypto";

import { NESTED, checkFields, wireName, wireValue, type Ask } from "./calls.js";
import { parseRfc3339, rfc3339 } from "./clock.js";
import { argsDigest, payloadDigest } from "./digest.js";
import { InvalidRequestError } from "./errors.js";
import { isObject, member, parsed, type JsonObject } from "./json.js";
import { REQUEST_ID, effectiveRisk, toolSlug, type Risk } from "./words.js";

const MAX_REQUEST_BYTES = 512 * 1024;
/** 30 days in milliseconds. */
export const LONGEST_LIFETIME = 30 * 86_400_000;

export interface SentRequest {
  readonly workspace: string;
  readonly agent: string;
  readonly requestId: string;
  readonly kind: string;
  readonly payload: Uint8Array;
  readonly digest: string;
  readonly argsDigest: string | null;
  readonly allowedVerdicts: ReadonlySet<string>;
  readonly approvalsRequired: number;
  /** Milliseconds. */
  readonly lifetime: number;
  readonly risk: Risk;
  readonly effects: string | null;
  readonly verifies: readonly string[];
}

/** The request's subject of kind `what` (`request`, `decision`, `withdraw`, `receipt`, …). */
export function requestSubject(request: SentRequest, what: string): string {
  return `countersign.v1.${what}.${request.workspace}.${request.agent}.${request.requestId}`;
}

/**
 * The request as it will be on the bus. `agent` is its agent object without `name`; `timeout` in seconds is how long an
 * answer is wanted, null is the longest. Throws `InvalidRequestError` for what a console would reject.
 */
export function buildRequest(
  ask: Ask,
  who: { workspace: string; agent: string },
  agent: JsonObject,
  timeout: number | null,
): SentRequest {
  const kind = checkFields(ask);
  const requestId = ask.requestId ?? uuid7();
  if (!REQUEST_ID.test(requestId)) {
    throw new InvalidRequestError("the request id is outside the grammar", "bad_subject");
  }
  const lifetime = timeout === null ? LONGEST_LIFETIME : lifetimeOf(timeout);
  const requestedAt = Date.now();
  const fields: Record<string, unknown> = {
    risk: kind === "tool_call" ? "critical" : "low",
    allowedVerdicts: kind === "tool_call" ? ["approve", "modify", "deny"] : ["respond", "deny"],
    ...(kind === "tool_call" && { args: {} }),
    ...Object.fromEntries(Object.entries(ask).filter(([, value]) => value !== undefined)),
  };
  checkWords(fields);
  const body: JsonObject = {
    v: 1,
    kind,
    request_id: requestId,
    workspace: who.workspace,
    agent: { ...agent, ...(wireValue("agent", fields["agent"] ?? {}) as JsonObject), name: who.agent },
  };
  const inner: JsonObject = {};
  for (const [name, value] of Object.entries(fields)) {
    if (name === "kind" || name === "requestId" || name === "agent" || (value === null && name !== "args")) continue;
    const place = NESTED[kind].has(name) ? inner : body;
    place[wireName(name)] = wireValue(name, value, place === inner ? 3 : 2);
  }
  if (kind === "tool_call") {
    const name = inner["name"];
    if (typeof name !== "string") throw new InvalidRequestError("a tool call needs a name", "missing_field");
    if (toolSlug(name) !== name) {
      inner["name"] = toolSlug(name);
      body["native"] = { tool_name: name, ...(body["native"] as JsonObject | undefined) };
    }
    body["tool"] = inner;
    body["args_digest"] = argsDigest(body["args"]);
  } else if (kind === "question") {
    body["question"] = inner;
  }
  body["verifies"] = ["webauthn"];
  body["requested_at"] = rfc3339(requestedAt);
  body["expires_at"] = timeout === null ? null : rfc3339(requestedAt + lifetime);
  return sent(body, encode(body), lifetime);
}

/** The request of stored bytes; null for bytes that `buildRequest` did not make. */
export function rebuildRequest(payload: Uint8Array, lifetime: number): SentRequest | null {
  const body = parsed(payload);
  const made = Array.isArray(member(body, "allowed_verdicts")) && parseRfc3339(member(body, "requested_at")) !== null;
  return isObject(body) && made ? sent(body, payload, lifetime) : null;
}

function sent(body: JsonObject, payload: Uint8Array, lifetime: number): SentRequest {
  return {
    workspace: String(body["workspace"]),
    agent: String(member(body["agent"], "name")),
    requestId: String(body["request_id"]),
    kind: String(body["kind"]),
    payload,
    digest: payloadDigest(payload),
    argsDigest: body["kind"] === "tool_call" ? argsDigest(body["args"]) : null,
    allowedVerdicts: new Set([...(body["allowed_verdicts"] as string[]), "deny"]),
    approvalsRequired: Number(member(body, "approvals_required") ?? 1),
    lifetime,
    risk: effectiveRisk(body["risk"]),
    effects: (member(body["tool"], "effects") as string | undefined) ?? null,
    verifies: ["webauthn"],
  };
}

function lifetimeOf(timeout: unknown): number {
  if (typeof timeout !== "number" || !Number.isFinite(timeout)) {
    throw new InvalidRequestError("the time-out is not a number of seconds", "bad_lifetime");
  }
  // The wire has milliseconds: rounded down, so that this agent never waits longer than it said.
  const lifetime = Math.min(Math.floor(timeout * 1000), LONGEST_LIFETIME);
  if (lifetime < 1) throw new InvalidRequestError("the time-out must be at least a millisecond", "bad_lifetime");
  return lifetime;
}

/** Throws `InvalidRequestError` for a risk, effect or verdict that is not a word, and for verdicts that are one. */
export function checkWords(fields: {
  allowedVerdicts?: unknown;
  approvalsRequired?: unknown;
  [name: string]: unknown;
}) {
  const offered = fields.allowedVerdicts ?? [];
  if (!Array.isArray(offered) || !offered.every((verdict) => typeof verdict === "string")) {
    throw new InvalidRequestError('allowedVerdicts has to be an array of words, such as ["approve"]', "wrong_type");
  }
  for (const name of ["risk", "effects", "name"]) {
    const word = fields[name];
    if (word !== undefined && word !== null && typeof word !== "string") {
      throw new InvalidRequestError(`${name} has to be a word`, "wrong_type");
    }
  }
  const approvals = fields.approvalsRequired ?? 1;
  if (!Number.isInteger(approvals) || Number(approvals) < 1 || Number(approvals) > 5) {
    throw new InvalidRequestError("approvalsRequired is 1 to 5", "wrong_type");
  }
}

/** UTF-8 JSON of a message whose values were copied. Throws `InvalidRequestError` for one that is too large. */
export function encode(body: JsonObject, limit = MAX_REQUEST_BYTES): Uint8Array {
  const payload = Buffer.from(JSON.stringify(body));
  if (payload.length > limit) {
    throw new InvalidRequestError(
      `the message has ${payload.length} bytes, ${limit} are allowed; send large values as artifacts`,
      "too_large",
    );
  }
  return payload;
}

/** A UUID of version 7: requests of one agent sort by time. */
export function uuid7(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
