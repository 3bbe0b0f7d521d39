/** What a model reads of a call that did not run: the published texts, the same in every SDK. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { answered } from "../src/decision.js";
import * as errors from "../src/errors.js";
import { member } from "../src/json.js";
import { editNotice, refusalText, type Decision } from "../src/index.js";
import type { Answer } from "../src/words.js";
import { CONTRACT } from "./kit/contract.js";

const VECTORS = JSON.parse(readFileSync(`${CONTRACT}/vectors/refusals.json`, "utf8"));

function decision(text: string, verdict: string): Decision {
  const body = JSON.parse(text);
  const message = { subject: "s", sequence: 1, stamp: "", payload: Buffer.from(text), headers: new Map() };
  const args = verdict === "modify" ? { value: body.edited_args, digest: null } : null;
  return answered(message, 0, body, verdict as Answer, args, (member(body, "response") as never) ?? null);
}

test.each<any>(VECTORS.decisions)("$text", ({ decision: text, verdict, text: words }) => {
  expect(refusalText("pay", decision(text, verdict))).toBe(words);
});

test.each<any>(VECTORS.notices)("$text", ({ decision: text, text: words }) => {
  expect(editNotice(decision(text, "modify"))).toBe(words);
});

test.each<any>(VECTORS.errors)("$name", ({ name, code, message, text: words }) => {
  const made = new (errors as any)[name](...(name === "VoidDecisionError" ? [code, "x"] : [message, code]));
  expect(refusalText("pay", made)).toBe(words);
});

test("whatever else is thrown is named by its kind alone", () => {
  expect(refusalText("pay", new RangeError("a secret"))).toBe(
    "pay was not run: could not get approval (failed): RangeError",
  );
  expect(refusalText("pay", "a secret")).toBe("pay was not run: could not get approval (failed): string");
  const wrapped = new errors.NotAllowedError("", "deny", decision(VECTORS.decisions[0].decision, "deny"));
  expect(refusalText("pay", wrapped)).toBe(VECTORS.decisions[0].text);
});
