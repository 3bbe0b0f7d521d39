/** What a model reads of a call that did not run (integrations, section 1): one sentence, the same in every SDK. */
import { writtenIn, type Decision } from "./decision.js";
import { CountersignError, NotAllowedError } from "./errors.js";
import { member, spaced } from "./json.js";
import { kindOf } from "./notices.js";

/**
 * Why the call of tool `name` did not run, for the model. `outcome` is the decision or what was thrown.
 *
 * A `respond` comes with its content: where that can take the place of the tool's result, use the content alone.
 */
export function refusalText(name: string, outcome: unknown): string {
  if (outcome instanceof NotAllowedError && outcome.decision !== null) return refusalText(name, outcome.decision);
  if (!isDecision(outcome)) {
    const [code, text] =
      outcome instanceof CountersignError ? [outcome.code, outcome.message] : ["failed", kindOf(outcome)];
    return `${name} was not run: could not get approval (${code}): ${text}`;
  }
  const said = outcome.message === null || outcome.message === "" ? "" : `: ${outcome.message}`;
  return `${name} was not run, ${sentence(outcome)}${said}`;
}

function isDecision(outcome: unknown): outcome is Decision {
  return typeof outcome === "object" && outcome !== null && !(outcome instanceof Error) && "verdict" in outcome;
}

function sentence(decision: Decision): string {
  const who = decidedBy(decision);
  const word = String(member(decision.payload, "verdict") ?? decision.verdict);
  switch (decision.verdict) {
    case "deny":
      return word === "deny" ? `denied by ${who}` : `not allowed (${word})`;
    case "terminate":
      return `denied by ${who}, who ended the run`;
    case "skip":
      return `skipped by ${who} (not a refusal)`;
    case "escalate":
      return `escalated by ${who} to the next approver`;
    case "respond":
      return `answered by ${who} instead: ${responseText(decision)}`;
    case "expired":
      return "expired: nobody answered in time";
    case "withdrawn":
      return "withdrawn before anybody answered";
    case "rejected":
      return "rejected: the console could not read the request";
    default:
      return `not allowed (${decision.verdict})`;
  }
}

/** What a model reads before the result of a call whose arguments a person changed. */
export function editNotice(decision: Decision): string {
  const args = spaced(writtenIn(decision, "edited_args") ?? JSON.stringify(decision.args));
  return `A person changed this call before it ran. It ran with ${args}.\n`;
}

/** What a person answered in the call's place: a text as it is, anything else as JSON. */
export function responseText(decision: Decision): string {
  const content = decision.response?.content ?? null;
  if (typeof content === "string") return content;
  return spaced(writtenIn(decision, "response", "content") ?? JSON.stringify(content));
}

/** Who decided, as it is said to a model. */
export function decidedBy(decision: Decision): string {
  const rule = member(decision.payload, "rule");
  if (decision.origin === "setup_key") return "a setup key";
  if (decision.origin === "rule" && rule !== undefined && rule !== null)
    return `the rule ${String(member(rule, "name"))}`;
  return decision.decidedBy?.name || "the console";
}
