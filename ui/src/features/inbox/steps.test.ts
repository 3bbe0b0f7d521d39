import { describe, expect, it } from "vitest";
import { card as wholeCard, shown } from "../../../test/build";
import type { Reveal } from "../../ipc/generated";
import { approveKey, missingStep, noProgress, stepsOf, type Progress, type StepFacts } from "./steps";

const reveal = (number: number, kind: Reveal["kind"]): Reveal => ({ reveal: number, kind, place: [] });
const card = (more: Partial<StepFacts>): StepFacts => ({
  path: "low",
  reveals: [],
  target: { text: "delete_invoice", pointer: null },
  tool: wholeCard().tool,
  ...more,
});
const named = (name: string): StepFacts["tool"] => ({
  name: shown(name),
  description: null,
  namespace: null,
  origin: null,
  effects: null,
});
const did = (more: Partial<Progress>): Progress => ({ ...noProgress, ...more });

describe("the way to an approval", () => {
  it("is one key for safe, low and medium", () => {
    expect(missingStep(card({}), noProgress)).toBeNull();
    expect(approveKey("low", false)).toBe("approve");
    expect(approveKey("low", true)).toBe("approvePath");
  });

  it("asks to read to the end for high, and for the chord", () => {
    expect(missingStep(card({ path: "high" }), noProgress)).toBe("read");
    expect(missingStep(card({ path: "high" }), did({ readToEnd: true }))).toBeNull();
    expect(approveKey("high", false)).toBe("approvePath");
    expect(approveKey("critical", false)).toBe("approvePath");
  });

  it("asks for every step in order for critical", () => {
    const critical = card({ path: "critical", reveals: [reveal(0, "secret")] });
    const walk: [Partial<Progress>, string | null][] = [
      [{}, "read"],
      [{ readToEnd: true }, "evidence"],
      [{ evidenceOpen: true }, "reveal"],
      [{ revealed: new Set([0]) }, "type"],
      [{ typed: "delete_invoices" }, "type"],
      [{ typed: "delete_invoice" }, null],
    ];
    let progress = noProgress;
    for (const [step, missing] of walk) {
      progress = did({ ...progress, ...step });
      expect(missingStep(critical, progress)).toBe(missing);
    }
  });

  it("cannot be walked when the target cannot be typed", () => {
    const walked = did({ readToEnd: true, evidenceOpen: true, typed: "" });
    expect(missingStep(card({ path: "critical", target: { text: null, pointer: null } }), walked)).toBe("type");
  });

  it("asks on every way for the end of a name that may not fit the head of the card", () => {
    for (const path of ["low", "high", "critical"] as const) {
      const long = card({ path, tool: named("x".repeat(65)) });
      expect(missingStep(long, noProgress)).toBe("name");
      expect(missingStep(long, did({ nameRead: true }))).not.toBe("name");
      expect(missingStep(card({ path, tool: named("x".repeat(64)) }), noProgress)).not.toBe("name");
      // A mark takes more room than the letter that it replaces.
      expect(missingStep(card({ path, tool: named("⟨U+202E⟩".repeat(9)) }), noProgress)).toBe("name");
    }
    expect(missingStep(card({ tool: null }), noProgress)).toBeNull();
  });

  it("asks to reveal hidden characters on every way, hidden secrets on the critical one only", () => {
    const both = [reveal(0, "secret"), reveal(1, "hidden_characters")];
    expect(missingStep(card({ reveals: both }), noProgress)).toBe("reveal");
    expect(missingStep(card({ reveals: both }), did({ revealed: new Set([1]) }))).toBeNull();
    expect(missingStep(card({ reveals: [reveal(0, "secret")] }), noProgress)).toBeNull();
    expect(stepsOf(card({ path: "critical", reveals: both }), noProgress).map(({ id }) => id)).toEqual([
      "read",
      "evidence",
      "reveal",
      "type",
    ]);
  });
});
