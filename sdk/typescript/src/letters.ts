/**
 * What an agent says beside its requests: hellos, receipts, withdrawals, earlier deadlines and spans (protocol, section
 * 6). Refuses to quote more of a decision that does not verify than a short id.
 */
import { wireName, wireValue, type Introduction, type Span } from "./calls.js";
import { rfc3339 } from "./clock.js";
import type { Decision } from "./decision.js";
import { VoidDecisionError } from "./errors.js";
import { member, type JsonObject } from "./json.js";
import type { StoredMessage } from "./log.js";
import { encode, requestSubject, type SentRequest } from "./request.js";
import { objectOf } from "./verify.js";
import { checkStage, toolSlug, type Stage } from "./words.js";

const LONGEST_ID = 64;
const LONGEST_MESSAGE = 2000;
const MAX_EVENT_BYTES = 900 * 1024;
const PARTS = new Set(["tools", "setupSchema", "credentials", "skills"]);

/** One message to store. With `first` it must be the subject's first: one that is there counts as delivered. */
export interface Letter {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly first: boolean;
}

/** What a receipt may say beside its stage. */
export interface ReceiptDetails {
  /** `argsDigest` of what really ran. */
  executedArgsDigest?: string | null | undefined;
  degraded?: readonly string[] | null | undefined;
  /** Cut after 2,000 characters. */
  message?: string | null | undefined;
}

/** How far the agent got with a decision; `subject` is its request's `receipt.` subject. */
export function receipt(subject: string, decisionId: string, stage: Stage, details: ReceiptDetails = {}): Letter {
  checkStage(stage);
  const body: JsonObject = { v: 1, decision_id: decisionId, stage, at: rfc3339(Date.now()) };
  if (details.executedArgsDigest) body["executed_args_digest"] = details.executedArgsDigest;
  if (details.degraded && details.degraded.length > 0) body["degraded"] = [...details.degraded];
  if (typeof details.message === "string") body["message"] = details.message.slice(0, LONGEST_MESSAGE).toWellFormed();
  return { subject, payload: encode(body), first: false };
}

/** The receipt `refused`. A decision whose id cannot be read, or is longer than any, is named `unreadable`. */
export function refusal(request: SentRequest, stored: StoredMessage | null, code: string): Letter {
  const claimed = stored === null ? undefined : member(objectOf(stored.payload), "decision_id");
  const id = typeof claimed === "string" && claimed.length <= LONGEST_ID ? claimed : "unreadable";
  return receipt(requestSubject(request, "receipt"), id, "refused", { message: code });
}

/** The first receipt for a verified decision. Throws `VoidDecisionError` for one that would run a withdrawn call. */
export function responseTo(
  request: SentRequest,
  decision: Decision,
  stored: StoredMessage,
  withdrawn: boolean,
  degraded: readonly string[] | null,
): Letter {
  if (withdrawn && decision.allowed) throw new VoidDecisionError("withdrawn", "the request was withdrawn before");
  if (decision.verdict === "expired" && member(decision.payload, "verdict") !== "expired") {
    return refusal(request, stored, "late");
  }
  return receipt(requestSubject(request, "receipt"), decision.decisionId ?? "", "received", { degraded });
}

/** The agent no longer wants the answer. */
export function withdrawal(request: SentRequest, reason: string): Letter {
  const payload = encode({ v: 1, reason: reason.toWellFormed() });
  return { subject: requestSubject(request, "withdraw"), payload, first: true };
}

/** What the agent says about itself; `agent` is its object without `name`. Throws for what no hello has. */
export function hello(who: { workspace: string; agent: string }, agent: JsonObject, parts: Introduction): Letter {
  const unknown = Object.keys(parts).filter((name) => !PARTS.has(name));
  if (unknown.length > 0) throw new TypeError(`a hello has no ${unknown.join(", ")}`);
  const body: JsonObject = { v: 1, agent: { name: who.agent, ...agent }, instance_id: agent["instance_id"] ?? "" };
  for (const [name, part] of Object.entries(parts)) {
    if (part !== null && part !== undefined) body[wireName(name)] = wireValue(name, part);
  }
  for (const tool of Array.isArray(body["tools"]) ? body["tools"] : []) {
    const name = member(tool, "name");
    // As its calls name it.
    if (typeof name === "string") (tool as JsonObject)["name"] = toolSlug(name);
  }
  return { subject: `countersign.v1.hello.${who.workspace}.${who.agent}`, payload: encode(body), first: false };
}

/** One step of a trace. Throws `InvalidRequestError` for what is no JSON or larger than 900 KiB. */
export function spanPayload(span: Span): Uint8Array {
  const body: JsonObject = { v: 1, type: "span" };
  for (const [name, value] of Object.entries(span)) {
    if (value !== undefined) body[wireName(name)] = wireValue(name, value);
  }
  return encode(body, MAX_EVENT_BYTES);
}
