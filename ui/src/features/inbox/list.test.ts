import { describe, expect, it } from "vitest";
import { row, shown } from "../../../test/build";
import { filterRows } from "./filter";
import { countSoon, lineOf, linesOf, topOf } from "./groups";

describe("the lines of the list", () => {
  const rows = [
    row({ key: "a", deadlineMs: 30_000 }),
    row({ key: "b", deadlineMs: 59_999 }),
    row({ key: "c", deadlineMs: 60_000 }),
  ];

  const heads = (now: number): string[] =>
    linesOf(rows, countSoon(rows, now)).map((line) => (line.type === "heading" ? line.id : line.row.key));

  it("are headed by when they are due, by server time", () => {
    expect(heads(0)).toEqual(["soon", "a", "b", "later", "c"]);
    expect(heads(-100_000)).toEqual(["later", "a", "b", "c"]);
    expect(heads(10_000)).toEqual(["soon", "a", "b", "c"]);
  });

  it("know where they are", () => {
    const lines = linesOf(rows, countSoon(rows, 0));
    expect(lineOf(lines, "c")).toBe(4);
    expect(topOf(lines, 4)).toBe(30 + 36 + 36 + 30);
    expect(lineOf(lines, "x")).toBe(-1);
  });
});

describe("the filter", () => {
  const rows = [
    row({
      key: "acme/bot/1",
      agent: "bot",
      tool: shown("send_email"),
      risk: "high",
      summary: shown("to: maria@acme.example"),
    }),
    row({ key: "acme/coder/2", agent: "coder", tool: shown("git.push"), risk: "medium", says: shown("Ship it") }),
  ];

  it.each([
    ["", [1, 2]],
    ["MARIA", [1]],
    ["ship", [2]],
    ["risk:high", [1]],
    ["agent:coder push", [2]],
    ["bot push", []],
    ["tool:send", [1]],
    ["  ", [1, 2]],
    ["risk:", [1, 2]],
  ])("%j shows %j", (filter, numbers) => {
    expect(filterRows(rows, filter).map((entry) => Number(entry.key.slice(-1)))).toEqual(numbers);
  });
});
