import { describe, expect, it } from "vitest";
import { branches, keyOf, nextTrouble, opened, openPlaces, placeOf, placesOf, standIn } from "./tree";
import { traceLine } from "../../../test/build";

//  0 ─ 1 ─ 2
//    └ 3
//  4
const lines = [null, 0, 1, 0, null].map((parent) => ({ parent }));

const bad = (line: { look: string }): boolean => line.look !== "ok";

describe("branches of a call tree", () => {
  it("hide everything below them, also what lies below an inner branch", () => {
    expect(openPlaces(lines, new Set())).toEqual([0, 1, 2, 3, 4]);
    expect(openPlaces(lines, new Set([1]))).toEqual([0, 1, 3, 4]);
    expect(openPlaces(lines, new Set([0]))).toEqual([0, 4]);
    expect(branches(lines)).toEqual([true, true, false, false, false]);
  });

  it("represent a line that they hide, and are opened to reach one", () => {
    expect(standIn(lines, new Set([0, 1]), 2)).toBe(0);
    expect(standIn(lines, new Set([1]), 2)).toBe(1);
    expect(standIn(lines, new Set(), 2)).toBe(2);
    expect([...opened(lines, new Set([0, 1, 4]), 2)]).toEqual([4]);
  });
});

it("the next trouble is looked for from here on, round and round", () => {
  const found = ["ok", "error", "ok", "denied"].map((look) => traceLine({ look: look as "ok" }));
  expect([0, 1, 2, 3].map((from) => nextTrouble(found, from, bad))).toEqual([1, 3, 3, 1]);
  expect(nextTrouble([traceLine()], 0, bad)).toBeNull();
});

describe("a line that is remembered", () => {
  const [root, call, other] = [traceLine({ span: 1 }), traceLine({ span: 2 }), traceLine({ span: 3 })];
  const asked = traceLine({ span: null, request: "a/b/r" });

  it("is found wherever lines that came before it have put it, and not where it is gone", () => {
    const before = [root, call, asked];
    const after = [root, other, call, asked];
    expect(before.map((line) => placeOf(after, keyOf(line)))).toEqual([0, 2, 3]);
    expect(placeOf(before, keyOf(other))).toBe(-1);
    expect([...placesOf(after, new Set([keyOf(call), "gone"]))]).toEqual([2]);
    expect([...placesOf(after, new Set())]).toEqual([]);
  });

  it("stays what it is when the span comes that waits for its request", () => {
    const after = [root, traceLine({ span: 9, request: "a/b/r" })];
    expect([placeOf(after, keyOf(asked)), [...placesOf(after, new Set([keyOf(asked)]))]]).toEqual([1, [1]]);
  });
});
