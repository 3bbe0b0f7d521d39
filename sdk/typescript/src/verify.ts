/**
 * Judges a stored decision. Pure: no I/O, no clock, no state. Anything it cannot prove, it refuses.
 *
 * It never looks at a message's own claims about time or sender where the server or a key says it better.
 */
import { parseRfc3339, rfc3339 } from "./clock.js";
import { answered, type Decision, type Runnable } from "./decision.js";
import { argsDigest } from "./digest.js";
import { VoidDecisionError } from "./errors.js";
import { isObject, member, parsed, strictly, type JsonObject } from "./json.js";
import type { StoredMessage } from "./log.js";
import { deviceSigned } from "./passkey.js";
import { BOUND, keyFault, limitFault, roleFault, type Facts, type Realm, type Term } from "./realm.js";
import { requestSubject, type SentRequest } from "./request.js";
import { DECISION, VOTE, misshapen } from "./shape.js";
import { base64urlBytes, verify } from "./signature.js";
import type { Answer } from "./words.js";

const MAX_DECISION_BYTES = 900 * 1024;
const RUNNING: ReadonlySet<string> = new Set(["approve", "modify"]);
const OPERATOR_VERDICTS: ReadonlySet<string> = new Set([...BOUND, "deny", "terminate"]);
const SYSTEM_VERDICTS: ReadonlySet<string> = new Set(["expired", "withdrawn", "rejected"]);

/** Who may sign. `state` is null only where the caller asked for no check: every other one is made. */
export interface Trust {
  readonly realm: string;
  readonly state: Realm | null;
}

/**
 * The decision. Throws `VoidDecisionError` with the code of the first check that failed.
 *
 * `late` says that the agent's own timer, started before the publish, has run out; a decision seen before that was
 * certainly stored in time. It is looked at last: a late decision that is otherwise sound reads `expired`, it is not
 * void.
 */
export function judge(stored: StoredMessage, request: SentRequest, trust: Trust, late: boolean): Decision {
  const { payload, sequence } = stored;
  const subject = requestSubject(request, "decision");
  const [key, sig] = [once(stored, "CS-Key"), once(stored, "CS-Sig")];
  check(trust.state === null || (key !== null && sig !== null), "unsigned");
  check(stored.subject === subject, "wrong_subject");
  const storedAt = parseRfc3339(stored.stamp);
  if (storedAt === null) throw fault("malformed");
  const { workspace, risk, effects, verifies } = request;
  const place = { workspace, risk, effects, verifies, at: rfc3339(storedAt), verdict: "", origin: "" };
  const term = key === null ? null : counting(trust, key, sequence, place);
  check(payload.length <= MAX_DECISION_BYTES, "malformed");
  if (key !== null && sig !== null)
    check(signed(trust, term, [key, sig], "decision", subject, payload), "bad_signature");
  const body = objectOf(payload);
  if (body === null || misshapen(body, DECISION)) throw fault("malformed");
  const [word, origin] = [String(body["verdict"]), String(body["origin"])];
  const known = OPERATOR_VERDICTS.has(word) || SYSTEM_VERDICTS.has(word);
  const verdict = (known ? word : "deny") as Answer;
  const facts: Facts = { ...place, verdict: word, origin };
  // What is more than no has to count at the head, too.
  const head = term !== null && BOUND.has(word) ? counting(trust, term.key.key, null, facts) : null;
  const terms = [term, head].filter((one) => one !== null);
  check(key === null || member(body["decided_by"], "key") === key, "bad_signature");
  check(body["request_id"] === request.requestId, "wrong_request");
  check(body["request_digest"] === request.digest, "wrong_request_digest");
  for (const one of terms.length > 0 ? terms : [anybody(origin)]) throwIf(roleFault(one, facts));
  check(origin !== "rule" && origin !== "setup_key" ? true : isObject(member(body, "rule")), "malformed");
  const args = runnable(verdict, body, request);
  const response = verdict === "respond" ? (member(body, "response") ?? null) : null;
  check(verdict !== "respond" || isObject(response), "malformed");
  const needed = args === null ? 0 : request.approvalsRequired;
  if (args !== null && needed > 1) {
    const votes = (member(body, "votes") ?? []) as JsonObject[];
    const people = new Set(votes.map((vote) => voterOf(vote, args.digest, sequence, request, trust, facts)));
    people.delete(null);
    check(people.size >= needed, "too_few_votes");
  }
  for (const one of terms) throwIf(limitFault(one, facts));
  // An operator's verdict, or an unknown word.
  if (late && !SYSTEM_VERDICTS.has(word)) return answered(stored, storedAt, body, "expired", null, null);
  return answered(stored, storedAt, body, verdict, args, structuredClone(response) as JsonObject | null);
}

const WHY: Record<string, string> = {
  unsigned: "the decision is not signed",
  wrong_subject: "the decision is on another subject",
  unknown_key: "nobody this agent trusts signed the decision",
  device_unsupported: "a device signed the decision, and the request does not take devices",
  malformed: "the decision is not well-formed",
  bad_signature: "the signature does not belong to this decision",
  wrong_request: "the decision answers another request",
  wrong_request_digest: "the decision answers other bytes than were asked",
  wrong_role: "who signed the decision may not decide so",
  not_allowed: "this agent did not offer the verdict",
  wrong_args_digest: "the decision names other arguments than it approves",
  too_few_votes: "too few approvals verify",
  device_limit: "a device may not decide this request",
  beyond_limit: "who signed the decision may not allow this request",
};

function fault(code: string): VoidDecisionError {
  return new VoidDecisionError(code, WHY[code] ?? code);
}

function check(holds: boolean, code: string): void {
  if (!holds) throw fault(code);
}

function throwIf(code: string | null): void {
  if (code !== null) throw fault(code);
}

/** Two values of a header could be read in two ways. */
function once(stored: StoredMessage, name: string): string | null {
  const [value, ...more] = stored.headers.get(name) ?? [];
  return value && more.length === 0 ? value : null;
}

/** The key's term at the decision's place, or at the head (null). Null only where nothing is checked. */
function counting(trust: Trust, key: string, sequence: number | null, facts: Facts): Term | null {
  if (trust.state === null) return null;
  const term = trust.state.term(key, sequence);
  if (term === null) throw fault("unknown_key");
  throwIf(keyFault(term, facts));
  return term;
}

/** Whose role fits the origin, where nobody's is known. */
function anybody(origin: string): Term {
  const key = { key: "", role: origin === "operator" ? "human" : "auto" };
  return { n: 0, since: 0, operator: "", limits: null, key, until: null };
}

function signed(
  { realm }: Trust,
  term: Term | null,
  [key, sig]: readonly [string, string],
  context: "decision" | "vote",
  subject: string,
  payload: Uint8Array,
): boolean {
  if (term?.key.role !== "device") return verify(key, sig, context, realm, subject, payload);
  return deviceSigned(term.key, term.operator, context, realm, subject, payload, sig);
}

/** The object of a decision or vote, read as strictly as a request; null for anything else. */
export function objectOf(payload: Uint8Array): JsonObject | null {
  const value = strictly(payload);
  return isObject(value) ? value : null;
}

/** The arguments that may run and their digest, freshly read so that nobody else holds them; null where none may. */
function runnable(verdict: string, body: JsonObject, request: SentRequest): Runnable | null {
  check(!OPERATOR_VERDICTS.has(verdict) || request.allowedVerdicts.has(verdict), "not_allowed");
  if (!RUNNING.has(verdict)) return null;
  const edited = Object.hasOwn(body, "edited_args");
  check(edited === (verdict === "modify"), "malformed");
  const value = structuredClone((edited ? body["edited_args"] : member(parsed(request.payload), "args")) ?? null);
  const digest = edited ? argsDigest(value) : request.argsDigest;
  const fits = (member(body, "args_digest") ?? null) === digest && !(edited && request.argsDigest === null);
  check(fits, "wrong_args_digest");
  return { value, digest };
}

/** The operator whose vote counts for this decision; null for any other. */
function voterOf(
  vote: JsonObject,
  digest: string | null,
  sequence: number,
  request: SentRequest,
  trust: Trust,
  decided: Facts,
): string | null {
  const [key, subject, sig] = [String(vote["key"]), String(vote["subject"]), String(vote["sig"])];
  const payload = base64urlBytes(vote["payload"]);
  const body = payload === null ? null : objectOf(payload);
  if (payload === null || body === null || misshapen(body, VOTE)) return null;
  if (member(body["decided_by"], "key") !== key || subject !== `${requestSubject(request, "vote")}.${key}`) return null;
  const term = trust.state?.term(key, sequence) ?? null;
  if (!signed(trust, term, [key, sig], "vote", subject, payload)) return null;
  const edited = Object.hasOwn(body, "edited_args");
  const same =
    body["request_digest"] === request.digest &&
    body["verdict"] === decided.verdict &&
    (member(body, "args_digest") ?? null) === digest &&
    edited === (decided.verdict === "modify") &&
    (!edited || digestOf(body["edited_args"]) === digest);
  if (!same || trust.state === null) return same ? key : null;
  const facts = { ...decided, origin: "operator" };
  return trust.state.agentFault(key, facts, sequence) === null ? trust.state.voter(key, facts, sequence) : null;
}

/** Null for what has no canonical form. */
export function digestOf(value: unknown): string | null {
  try {
    return argsDigest(value);
  } catch {
    return null;
  }
}
