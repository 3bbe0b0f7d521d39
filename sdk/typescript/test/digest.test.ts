/** One meaning, one digest: the vectors of RFC 8785, and JSON as every implementation reads it. */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { argsDigest, payloadDigest, VoidDecisionError } from "../src/index.js";
import { parseRfc3339, rfc3339 } from "../src/clock.js";
import { canonical, isWhole, readStrict, snapshot, spaced, type JsonObject } from "../src/json.js";
import { Realm } from "../src/realm.js";
import { buildRequest, rebuildRequest, uuid7 } from "../src/request.js";
import { publicKeyBytes, signaturesReady, verify } from "../src/signature.js";
import { toolSlug } from "../src/words.js";
import { judge } from "../src/verify.js";
import { Console } from "./kit/console.js";
import { CONTRACT } from "./kit/contract.js";
import { Key } from "./kit/key.js";

beforeAll(() => signaturesReady());

const bytes = (text: string): Uint8Array => Buffer.from(text);

// RFC 8785, appendix B.
const NUMBERS: [string, string][] = [
  ["0000000000000000", "0"],
  ["8000000000000000", "0"],
  ["0000000000000001", "5e-324"],
  ["8000000000000001", "-5e-324"],
  ["7fefffffffffffff", "1.7976931348623157e+308"],
  ["4430000000000000", "295147905179352830000"],
  ["44b52d02c7e14af5", "9.999999999999997e+22"],
  ["44b52d02c7e14af6", "1e+23"],
  ["444b1ae4d6e2ef50", "1e+21"],
  ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
  ["3eb0c6f7a0b5ed8d", "0.000001"],
  ["41b3de4355555553", "333333333.3333332"],
  ["becbf647612f3696", "-0.0000033333333333333333"],
  ["43143ff3c1cb0959", "1424953923781206.2"],
];

test.each(NUMBERS)("the number %s reads %s", (bits, text) => {
  expect(canonical(Buffer.from(bits, "hex").readDoubleBE())).toBe(text);
});

test("texts read as RFC 8785 says", () => {
  const one = String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
    "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`;
  expect(canonical(readStrict(bytes(one)))).toBe(
    `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
      String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
  const two = String.raw`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`;
  expect(canonical(readStrict(bytes(two)))).toBe('{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}');
});

test("the digest of the protocol's example", () => {
  const digest = "sha256:30e64fe16d9c35d7dea1689837b3dd7e4c4a95c90b71eefec776582e94f00d95";
  expect(argsDigest({ invoice_id: "INV-42" })).toBe(digest);
  expect(payloadDigest('{"invoice_id":"INV-42"}')).toBe(digest);
});

describe("what two readers could read differently is refused", () => {
  const deep = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
  test.each([
    '{"a":1,"a":1}',
    String.raw`{"a":1,"\u0061":1}`,
    "9007199254740992",
    "-9007199254740993",
    "1e400",
    "NaN",
    "Infinity",
    "01",
    "1.",
    ".5",
    "+1",
    "1e",
    "--1",
    String.raw`"\ud800"`,
    String.raw`"\udc00\ud800"`,
    String.raw`"\x41"`,
    '"\t"',
    "'a'",
    "[1,]",
    '{"a":1,}',
    "{a:1}",
    "[1 2]",
    "1 2",
    "",
    " ",
    "\u00a01",
    "\ufeff1",
    "tru",
    '{"$serde_json::private::Number":"1"}',
    '[{"x":{"$serde_json::private::":1}}]',
    deep(65),
    "[".repeat(200_000),
  ])("%s", (text) => {
    expect(() => readStrict(bytes(text))).toThrow(SyntaxError);
  });

  test("bytes that are no UTF-8", () => {
    for (const hex of ["22ff22", "22c0af22", "22eda08022", "22f490808022"]) {
      expect(() => readStrict(Buffer.from(hex, "hex")), hex).toThrow(SyntaxError);
    }
  });

  test("and nothing else", () => {
    expect(readStrict(bytes(deep(64)))).toBeDefined();
    expect(readStrict(bytes(' {"a" : [ 1 , -2.5e3 , "\\n" , true, null ] , "" : {} } '))).toEqual({
      a: [1, -2500, "\n", true, null],
      "": {},
    });
    expect(readStrict(bytes("9007199254740991"))).toBe(2 ** 53 - 1);
    const odd = readStrict(bytes('{"__proto__":{"a":1},"constructor":2,"toString":3}')) as JsonObject;
    expect(Object.keys(odd)).toEqual(["__proto__", "constructor", "toString"]);
    expect(Object.getPrototypeOf(odd)).toBe(Object.prototype);
    expect(canonical(odd)).toBe('{"__proto__":{"a":1},"constructor":2,"toString":3}');
  });

  test("whole numbers are those that are written so", () => {
    const read = readStrict(bytes('{"a":2,"b":2.0,"c":2e0,"d":-0,"e":0,"f":"2","g":-1}'));
    const whole = ["a", "b", "c", "d", "e", "f", "g", "h"].filter((name) => isWhole(read, name, 0));
    expect(whole).toEqual(["a", "e"]);
  });
});

test("values that JSON does not know have no digest", () => {
  class Money {
    n = 1;
  }
  const cycle: Record<string, unknown> = {};
  cycle["cycle"] = cycle;
  for (const [value, code] of [
    [undefined, "wrong_type"],
    [() => 1, "wrong_type"],
    [new Date(), "wrong_type"],
    [new Map(), "wrong_type"],
    [new Money(), "wrong_type"],
    [Symbol("s"), "wrong_type"],
    [1n, "wrong_type"],
    [[undefined], "wrong_type"],
    [cycle, "too_deep"],
    [-Infinity, "non_finite_number"],
    [2 ** 60, "integer_out_of_range"],
    ["\udc00", "lone_surrogate"],
    [{ "\ud800": 1 }, "lone_surrogate"],
  ] as const) {
    expect(() => argsDigest(value)).toThrow(expect.objectContaining({ code }));
  }
  expect(argsDigest({ a: 1, b: undefined })).toBe(argsDigest({ a: 1 }));
  expect(argsDigest(Object.assign(Object.create(null), { a: 1 }))).toBe(argsDigest({ a: 1 }));
  expect(canonical(snapshot([1e21, 1e300, -0, 0.1]))).toBe("[1e+21,1e+300,0,0.1]");
});

test("a value that says something else each time it is read is read once", () => {
  let read = 0;
  const args = {
    get n(): number {
      return (read += 1);
    },
  };
  const request = buildRequest({ name: "t", args }, { workspace: "a", agent: "b" }, {}, null);
  const body = JSON.parse(Buffer.from(request.payload).toString());
  expect(body.args_digest).toBe(argsDigest(body.args));
  expect(request.argsDigest).toBe(body.args_digest);
});

test("sixty-four levels are allowed, the root being one", () => {
  const request = (levels: number): unknown => {
    let x: unknown = "a leaf is not a level";
    for (let level = 1; level < levels; level += 1) x = [x];
    return buildRequest({ name: "t", args: { x } }, { workspace: "a", agent: "b" }, {}, null);
  };
  expect(request(63)).toBeDefined();
  expect(() => request(64)).toThrow(expect.objectContaining({ code: "too_deep" }));
});

test("ids of requests sort by time and are of version 7", () => {
  const ids = Array.from({ length: 50 }, uuid7);
  expect(ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toBe(
    true,
  );
  expect(new Set(ids).size).toBe(50);
  expect(ids.map((id) => id.slice(0, 13))).toEqual(ids.map((id) => id.slice(0, 13)).toSorted());
});

test("a public key is read only with its checksum, and only of a user", () => {
  const key = new Key();
  expect(publicKeyBytes(key.public)).toHaveLength(32);
  for (let place = 0; place < 56; place += 1) {
    const other = key.public[place] === "A" ? "B" : "A";
    expect(publicKeyBytes(key.public.slice(0, place) + other + key.public.slice(place + 1))).toBeNull();
  }
  for (const wrong of ["", "U", key.public.toLowerCase(), `${key.public}A`, key.seed, null, 1]) {
    expect(publicKeyBytes(wrong)).toBeNull();
  }
});

test("a signature holds for one context, realm, subject and payload", () => {
  const key = new Key();
  const sig = key.sign("decision", "r", "s", "payload");
  const about = ["decision", "r", "s", bytes("payload")] as const;
  expect(verify(key.public, sig, ...about)).toBe(true);
  expect(verify(key.public, sig, "vote", "r", "s", bytes("payload"))).toBe(false);
  expect(verify(key.public, sig, "decision", "q", "s", bytes("payload"))).toBe(false);
  expect(verify(key.public, sig, "decision", "r", "t", bytes("payload"))).toBe(false);
  expect(verify(key.public, sig, "decision", "r", "s", bytes("payloax"))).toBe(false);
  const last = String.fromCharCode(sig.charCodeAt(85) + 1);
  for (const wrong of [`${sig}=`, sig.slice(0, 40), sig.slice(0, 85) + last, "", null]) {
    expect(verify(key.public, wrong, ...about)).toBe(false);
  }
  expect(verify(new Key().public, sig, ...about)).toBe(false);
});

test.each([
  ["pay", "pay"],
  ["mcp__bank.pay-1", "mcp__bank.pay-1"],
  ["..", ".."],
  ["pay invoice", "pay-invoice-674e58b8"],
  [" a- b ", "a--b-e4446d39"],
  ["über/ß", "ber-3edf5a77"],
  ["", "tool-e3b0c442"],
  ["x".repeat(65), `${"x".repeat(55)}-9537c5fd`],
  ["日本", "tool-cf2abf0c"],
  ["a\nb", "a-b-7e18f737"],
])("%j is spelt %s, as in every SDK", (name, spelt) => expect(toolSlug(name)).toBe(spelt));

test("one line of JSON keeps order and numbers", () => {
  expect(spaced('{"b":1.0,"1":[true,"a,b:{\\u0041"],"c":{}, "d" : 1e2}')).toBe(
    '{"b": 1.0, "1": [true, "a,b:{A"], "c": {}, "d": 1e2}',
  );
});

describe("the published vectors of decisions", () => {
  const vectors = JSON.parse(readFileSync(`${CONTRACT}/vectors/decisions.json`, "utf8"));
  const example = readFileSync(`${CONTRACT}/examples/decision-approve.json`, "utf8");
  const payload = readFileSync(`${CONTRACT}/examples/request.json`);
  const ada = new Key(Buffer.alloc(32, 1));
  const stored = JSON.parse(readFileSync(`${CONTRACT}/examples/signatures.json`, "utf8"));
  const { realm, subject } = stored.find((entry: any) => entry.file === "decision-approve.json");

  function fault(text: string): string | null {
    const console = Object.assign(new Console(), { realm, human: ada });
    const entry = console.signedEntry({
      operators: [console.record(ada, { name: "Ada", admin: true })],
      realm: { acceptance: false },
    });
    const root = payloadDigest(Buffer.from(JSON.parse(entry).payload, "base64url"));
    const state = new Realm(realm, root);
    expect(state.apply(1, 1, bytes(entry))).toBe("ok");
    const request = rebuildRequest(payload, 60_000);
    if (request === null) throw new Error("no request");
    const sig = ada.sign("decision", realm, subject, text);
    const headers = new Map([
      ["CS-Key", [ada.public]],
      ["CS-Sig", [sig]],
    ]);
    const message = { subject, sequence: 2, stamp: rfc3339(Date.now()), payload: bytes(text), headers };
    try {
      judge(message, request, { realm, state }, false);
      return null;
    } catch (error) {
      if (error instanceof VoidDecisionError) return error.code;
      throw error;
    }
  }

  test.each<any>(vectors.decisions)("$what", ({ from, to, fault: expected }) => {
    expect(example.split(from)).toHaveLength(2);
    expect(fault(example.replace(from, () => to))).toBe(expected);
  });

  test.each<any>(vectors.timestamps)("the time $text", ({ text, utc }) => {
    const moment = parseRfc3339(text);
    expect(moment === null ? null : rfc3339(moment)).toBe(utc);
    const decided = example.replace('"2026-11-21T12:00:20.000Z"', () => JSON.stringify(text));
    expect(fault(decided)).toBe(utc === null ? "malformed" : null);
  });
});
