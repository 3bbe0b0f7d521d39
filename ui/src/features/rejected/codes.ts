/** What each code of a rejected message means, and what its sender can do (protocol, section 2). */
const MEANING: Record<string, string> = {
  not_json: "The message is not UTF-8 JSON. A byte order mark is an error too.",
  bad_version: "The field v is not 1. The agent speaks another version of the protocol.",
  unknown_kind: "The field kind is not tool_call, question or form.",
  missing_field: "A required field is missing.",
  wrong_type: "A field has a value of the wrong type.",
  bad_timestamp: "A time stamp is not RFC 3339 in UTC.",
  bad_lifetime: "expires_at is not after requested_at.",
  digest_mismatch:
    "The digest of the arguments does not match the message. They were altered, or the agent computes it wrongly.",
  subject_mismatch: "Workspace, agent or request id do not match the subject of the message.",
  bad_subject: "The subject, or a name in it, is outside the protocol's grammar.",
  too_large: "The request is larger than 512 KiB. Send larger values as references.",
  too_deep: "The JSON is nested deeper than 64 levels.",
  duplicate_key: "An object has the same key twice: readers could disagree on its meaning.",
  integer_out_of_range: "An integer is beyond ±(2^53−1): readers could disagree on its value.",
  non_finite_number: "A number is not finite.",
  lone_surrogate: "A string holds half of a character pair.",
  too_many_waiting: "Too many requests of this agent are already waiting.",
};

export const meaningOf = (code: string): string => MEANING[code] ?? "The message is not a valid request.";
