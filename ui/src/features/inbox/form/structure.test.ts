import { describe, expect, it } from "vitest";
import { gapsOf, isDrawn, pruned, readNumber, toJson, withValue, type Structure } from "./structure";

const form: Structure = {
  type: "object",
  required: ["a/b", "part"],
  properties: {
    "a/b": { type: "string", kind: "string" },
    part: { type: "object", required: ["n"], properties: { n: { type: "string", kind: "integer" } } },
    more: { type: "object", required: ["x"], properties: { x: { type: "string", kind: "string" } } },
    list: { type: "array", items: { type: "string", kind: "string" } },
  },
};

describe("what is filled in", () => {
  it.each([
    [undefined, { "/a~1b": "Required.", "/part/n": "Required." }],
    [{ "a/b": "x", part: { n: 0 } }, {}],
    [{ "a/b": "x", part: { n: "1x" } }, { "/part/n": "Write a number of at most 15 digits." }],
    [{ "a/b": "x", part: { n: 1 }, more: {} }, {}],
    [{ "a/b": "x", part: { n: 1 }, more: { y: 1 } }, { "/more/x": "Required." }],
    [{ "a/b": "x", part: { n: 1 }, list: ["a", undefined] }, { "/list/1": "Required." }],
    [{ "a/b": "x", part: { n: 1 }, list: [] }, {}],
  ])("%j lacks %j", (data, gaps) => {
    expect(Object.fromEntries(gapsOf(form, data))).toEqual(gaps);
  });

  it("is sent without what is empty", () => {
    const data = { "a/b": undefined, part: {}, more: { x: undefined }, list: [], other: null };
    expect(pruned(form, data)).toEqual({ part: {}, list: [], other: null });
  });

  it("is replaced at its place alone", () => {
    const data = { "a/b": "x", list: ["a", "b"] };
    expect(withValue(data, ["list", 1], "c")).toEqual({ "a/b": "x", list: ["a", "c"] });
    expect(withValue(undefined, ["part", "n"], 1)).toEqual({ part: { n: 1 } });
  });

  it.each([
    ["/a~1b", true],
    ["/part/n", true],
    ["/list/7", true],
    ["", false],
    ["/none", false],
    ["/a~1b/deeper", false],
  ])("is drawn at %s: %s", (pointer, drawn) => {
    expect(isDrawn(form, pointer)).toBe(drawn);
  });

  it("shows in an editor what cannot be seen, and is the same JSON", () => {
    const data = { "a\u202Eb": "x\u200By\u{E0041}z", n: [1, "ä\n"] };
    const json = toJson(data);
    expect(json).not.toMatch(/[\u202E\u200B\u{E0041}]/u);
    expect(JSON.parse(json)).toEqual(data);
    expect(json).toContain("ä");
  });
});

describe("a typed number", () => {
  it.each([
    ["0", 0],
    ["-12.50", -12.5],
    ["1e3", 1000],
    ["0.1", 0.1],
    ["999999999999999", 999_999_999_999_999],
    ["0.000000000000001", 1e-15],
  ])("%s is %d", (text, number) => {
    expect(readNumber(text)).toBe(number);
  });

  it.each([
    "",
    " 1",
    "1 ",
    "01",
    ".5",
    "1.",
    "+1",
    "1,5",
    "0x1",
    "Infinity",
    "NaN",
    "1e999",
    "1234567890123456",
    "1e-400",
  ])("%j is none", (text) => {
    expect(readNumber(text)).toBe(text);
  });
});
