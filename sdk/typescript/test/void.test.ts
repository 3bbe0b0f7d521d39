/** Stored decisions that must not be believed: each denies, says which check failed and is refused by receipt. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { argsDigest, Gate, payloadDigest, type ToolCall } from "../src/index.js";
import { benchOfFile } from "./kit/bench.js";
import type { Console, Received } from "./kit/console.js";
import { Key } from "./kit/key.js";

const bench = benchOfFile();
let gate: Gate;

beforeAll(async () => {
  gate = await bench().gate();
});

function call(requestId: string): ToolCall {
  return { name: "delete_invoice", requestId, args: { invoice_id: "INV-42" }, risk: "high" };
}

type Signed = [string | Uint8Array, Record<string, string>];
type Make = (console: Console, seen: Received, subject: string) => Signed;

const body =
  (changes: object, verdict = "approve"): Make =>
  (console, seen, subject) =>
    console.signed(subject, console.decision(seen, verdict, changes));
const auto =
  (changes: object, verdict = "approve"): Make =>
  (console, seen, subject) => {
    const by = { name: "console", key: console.auto.public };
    return console.signed(subject, console.decision(seen, verdict, { decided_by: by, ...changes }), console.auto);
  };
const raw =
  (payload: string | Uint8Array): Make =>
  (console, _, subject) => [
    payload,
    { "CS-Key": console.human.public, "CS-Sig": console.human.sign("decision", console.realm, subject, payload) },
  ];
/** Signed by Ada, with some of its bytes changed before. */
const written =
  (change: (text: string) => string, verdict = "approve"): Make =>
  (console, seen, subject) =>
    raw(change(JSON.stringify(console.decision(seen, verdict))))(console, seen, subject);

const EDIT = { invoice_id: "INV-1" };
const CASES: Record<string, [Make, string]> = {
  unsigned: [(console, seen) => [JSON.stringify(console.decision(seen)), {}], "unsigned"],
  "signed by a stranger": [
    (console, seen, subject) => {
      const stranger = new Key();
      const decided_by = { name: "Ada", key: stranger.public };
      return console.signed(subject, console.decision(seen, "approve", { decided_by }), stranger);
    },
    "unknown_key",
  ],
  "altered after signing": [
    (console, seen, subject) => {
      const [payload, headers] = console.signed(subject, console.decision(seen, "approve", { message: "a" }));
      return [payload.replace('"a"', '"b"'), headers];
    },
    "bad_signature",
  ],
  "signed for another subject": [
    (console, seen, subject) => console.signed(`${subject}x`, console.decision(seen)),
    "bad_signature",
  ],
  "signed for another realm": [
    (console, seen, subject) => console.signed(subject, console.decision(seen), console.human, randomUUID()),
    "bad_signature",
  ],
  "signed with another key than it names": [
    (console, seen, subject) => console.signed(subject, console.decision(seen), console.auto),
    "bad_signature",
  ],
  "not JSON": [raw("{"), "malformed"],
  "not UTF-8": [raw(Buffer.from('"\u00ff"', "latin1")), "malformed"],
  "with a byte order mark": [written((text) => `\ufeff${text}`), "malformed"],
  "not an object": [raw('["approve"]'), "malformed"],
  "nested without end": [raw("[".repeat(100_000)), "malformed"],
  "with a number that is none": [raw('{"v": NaN}'), "malformed"],
  "two verdicts in one object": [written((text) => text.replace(/}$/, ', "verdict": "approve"}'), "deny"), "malformed"],
  "a member twice, once escaped": [
    written((text) => text.replace("{", '{"\\u0076erdict":"approve",'), "deny"),
    "malformed",
  ],
  "with minus nought as its version": [written((text) => text.replace('"v":1', '"v":-0')), "malformed"],
  "with a version of 1.0": [written((text) => text.replace('"v":1', '"v":1.0')), "malformed"],
  "with an integer that no double holds": [
    written((text) => text.replace(/}$/, ',"extra":[9007199254740993]}')),
    "malformed",
  ],
  "with a number beyond all doubles": [written((text) => text.replace(/}$/, ',"extra":1e400}')), "malformed"],
  "with half a character": [written((text) => text.replace(/}$/, ',"message":"\\ud800"}')), "malformed"],
  "with a name of another library": [
    written((text) => text.replace(/}$/, ',"x":{"$serde_json::private::Number":"1"}}')),
    "malformed",
  ],
  "with a comma too many": [written((text) => text.replace(/}$/, ",}")), "malformed"],
  "for another request": [body({ request_id: "another" }), "wrong_request"],
  "for other request bytes": [body({ request_digest: payloadDigest("{}") }), "wrong_request_digest"],
  "approving other arguments": [body({ args_digest: argsDigest(EDIT) }), "wrong_args_digest"],
  "approving no arguments": [body({ args_digest: undefined }), "wrong_args_digest"],
  "approving and editing at once": [body({ edited_args: EDIT }), "malformed"],
  "edited but with the old digest": [
    (console, seen, subject) =>
      console.signed(
        subject,
        console.decision(seen, "modify", { edited_args: EDIT, args_digest: seen.body.args_digest }),
      ),
    "wrong_args_digest",
  ],
  "edited without arguments": [body({ args_digest: argsDigest(EDIT) }, "modify"), "malformed"],
  "an unknown origin": [body({ origin: "weather" }), "malformed"],
  "a person through an automatic key": [auto({ origin: "operator" }), "wrong_role"],
  "a rule through a person's key": [body({ origin: "rule" }), "wrong_role"],
  "a time-out that approves": [auto({ origin: "timeout" }), "wrong_role"],
  "a system that approves": [auto({ origin: "system" }), "wrong_role"],
  "an agent that approves": [auto({ origin: "agent" }), "wrong_role"],
  "a rule that nobody names": [auto({ origin: "rule" }), "malformed"],
  "a setup key that nobody names": [auto({ origin: "setup_key", rule: null }), "malformed"],
  "a rule that says expired": [auto({ origin: "rule" }, "expired"), "wrong_role"],
  "a verdict the agent did not offer": [body({ response: { content: 1 } }, "respond"), "not_allowed"],
  "a skip the agent did not offer": [body({}, "skip"), "not_allowed"],
  "another version": [body({ v: 2 }), "malformed"],
  "a version that is no number": [body({ v: true }), "malformed"],
  "no decision id": [body({ decision_id: undefined }), "malformed"],
  "no time": [body({ decided_at: undefined }), "malformed"],
  "nobody who decided": [body({ decided_by: undefined }), "malformed"],
  "too large": [body({ message: "x".repeat(950_000) }), "malformed"],
};

test.each(Object.keys(CASES))("%s", async (name) => {
  const [make, code] = CASES[name] as [Make, string];
  const { console } = bench();
  const id = randomUUID();
  const ended = expect(gate.ask(call(id))).rejects.toMatchObject({ name: "VoidDecisionError", code });
  const seen = await console.request(id);
  const subject = seen.subject.replace(".request.", ".decision.");
  await console.store(subject, ...make(console, seen, subject));
  await ended;
  expect((await console.receipt(id, "refused")).message).toBe(code);
});

test.each([
  [64, true],
  [65, false],
  [100_000, false],
])("an id of %i characters is quoted: %s", async (length, named) => {
  const { console } = bench();
  const id = randomUUID();
  const ended = expect(gate.ask(call(id))).rejects.toThrow("refused");
  await console.decide(id, "approve", { decision_id: "d".repeat(length) });
  await ended;
  expect((await console.receipt(id, "refused")).decision_id).toBe(named ? "d".repeat(length) : "unreadable");
});

test("an approval that came before the withdrawal runs nothing and is refused", async () => {
  const { console } = bench();
  const id = randomUUID();
  const stop = new AbortController();
  const asking = expect(gate.ask(call(id), { signal: stop.signal })).rejects.toThrow("abort");
  await console.request(id);
  stop.abort();
  await asking;
  await console.decide(id);
  expect((await console.receipt(id, "refused")).message).toBe("withdrawn");
});

test("an approval after the agent's own timer is refused as late", async () => {
  const { console } = bench();
  const id = randomUUID();
  expect((await gate.ask(call(id), { timeout: 3 })).verdict).toBe("expired");
  await console.decide(id);
  expect((await console.receipt(id, "refused")).message).toBe("late");
});
