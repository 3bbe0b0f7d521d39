/**
 * The fields of a decision and of a vote (protocol, section 5). Pure.
 *
 * Refuses every field of another type or spelling, optional ones too: a console calls such a decision void and raises an
 * alarm, and an agent that ran it all the same would contradict the console.
 */
import { parseRfc3339 } from "./clock.js";
import { isObject, isWhole, member, type JsonObject } from "./json.js";
import { isDigest, isPublicKey } from "./records.js";
import { base64urlBytes } from "./signature.js";
import { REQUEST_ID } from "./words.js";

/** Whether the member `name` of `holder`, which is `value`, is what it must be. */
type Check = (value: unknown, holder: JsonObject, name: string) => boolean;
/** Fields by their checks: `required | optional`, each `name:check`. */
export type Shape = string;

export const DECISION: Shape =
  "v:one decision_id:uuid request_id:id request_digest:digest verdict:text origin:origin decided_by:by decided_at:moment " +
  "| message:text args_digest:digest response:response scope:scope rule:rule policy_digest:digest votes:votes";
export const VOTE: Shape =
  "v:one vote_id:uuid request_digest:digest verdict:text decided_by:by decided_at:moment | args_digest:digest message:text";

const CHECKS: Record<string, Check> = {
  any: () => true,
  text: (value) => typeof value === "string",
  one: (value, holder, name) => value === 1 && isWhole(holder, name, 1),
  count: (_, holder, name) => isWhole(holder, name, 0),
  moment: (value) => parseRfc3339(value) !== null,
  uuid: matching(/^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/),
  id: matching(REQUEST_ID),
  digest: isDigest,
  origin: matching(/^(operator|rule|setup_key|timeout|agent|system)$/),
  scope: matching(/^(once|session|always)$/),
  // Of a user or of a device.
  key: (value) => isPublicKey(value) || (typeof value === "string" && /^W[A-Z2-7]{52}$/.test(value)),
  signature: (value) => base64urlBytes(value)?.length === 64 || isAssertion(value),
  by: object("name:text key:key |"),
  rule: object("id:text version:count | name:text"),
  response: object("content:any | selected_key:text"),
  votes: (value) => Array.isArray(value) && value.every((vote) => isVote(vote, {}, "")),
};
const isVote = object("key:key subject:text payload:text sig:signature |");

function matching(pattern: RegExp): Check {
  return (value) => typeof value === "string" && pattern.test(value);
}

function object(shape: Shape): Check {
  return (value) => isObject(value) && !misshapen(value, shape);
}

function isAssertion(value: unknown): boolean {
  const parts = typeof value === "string" && value.length <= 4096 ? value.split(".") : [];
  return parts.length === 3 && parts.every((part) => base64urlBytes(part) !== null);
}

/**
 * The first field that is missing or not what it must be; null where all are. Null means an absent optional field,
 * unknown fields are kept.
 */
export function misshapen(value: JsonObject, shape: Shape): string | null {
  const [required = "", optional = ""] = shape.split("|").map((fields) => fields.trim());
  const wrong = (field: string, needed: boolean): boolean => {
    const [name = "", check = ""] = field.split(":");
    const found = member(value, name);
    if (!needed && (found ?? null) === null) return false;
    return found === undefined || CHECKS[check]?.(found, value, name) !== true;
  };
  const find = (fields: string, needed: boolean) => fields.split(" ").find((field) => field && wrong(field, needed));
  return find(required, true) ?? find(optional, false) ?? null;
}
