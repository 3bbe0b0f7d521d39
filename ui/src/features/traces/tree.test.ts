import { describe, expect, it } from "vitest";
import { branches, nextTrouble, opened, openPlaces, standIn } from "./tree";
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

  it("stand for a line that they hide, and are opened to reach one", () => {
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
