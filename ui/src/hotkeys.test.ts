import { describe, expect, it } from "vitest";
import { commandIds, definitionOf, printKeys, resolveStroke, spell, type Stroke, type StrokeContext } from "./hotkeys";

const stroke = (key: string, more: Partial<Stroke> = {}): Stroke => ({
  key, code: "", ctrlKey: false, altKey: false, metaKey: false, shiftKey: false, ...more,
});
const calm: StrokeContext = { inText: false, covered: false, sinceFocusMs: 10_000, sinceTypedMs: 10_000, singleKeysOff: false, prefix: null };
const everyKey = commandIds.flatMap((id) => definitionOf(id).keys.map((keys) => ({ id, keys })));

describe("the registry of keys", () => {
  it("gives no two commands the same keys", () => {
    expect(new Set(everyKey.map(({ keys }) => keys)).size).toBe(everyKey.length);
  });

  it.each(everyKey)("never lets Enter, Space or a digit approve ($id: $keys)", ({ id, keys }) => {
    const last = keys.split(/[ +]/).at(-1);
    expect(definitionOf(id).approves === true && /^(Enter|Space|\d)$/.test(last ?? "")).toBe(false);
  });

  it("keeps letters of sequences free of single keys that act", () => {
    const singles = new Set(everyKey.map(({ keys }) => keys).filter((keys) => !keys.includes(" ")));
    for (const { keys } of everyKey.filter((entry) => entry.keys.includes(" "))) {
      expect(singles.has(keys.split(" ")[0] ?? "")).toBe(false);
    }
  });

  const chord = { shiftKey: true, ctrlKey: true };
  it.each<[string, string, Partial<Stroke>, string]>([
    ["QWERTY", "a", { code: "KeyA" }, "A"],
    ["QWERTY", "A", { code: "KeyA", ...chord }, "Ctrl+Shift+A"],
    ["QWERTY", "?", { code: "Slash", shiftKey: true }, "?"],
    ["QWERTY", ">", { code: "Period", ...chord }, "Ctrl+Shift+."],
    ["QWERTZ", ":", { code: "Period", ...chord }, "Ctrl+Shift+."],
    ["QWERTZ", ">", { code: "IntlBackslash", ...chord }, "Ctrl+>"],
    ["Cyrillic", "ф", { code: "KeyA" }, "A"],
    ["Greek", "α", { code: "KeyA" }, "A"],
    ["AZERTY", "a", { code: "KeyQ" }, "A"],
    ["AZERTY", "?", { code: "KeyM", shiftKey: true }, "?"],
    ["AZERTY", ",", { code: "KeyM" }, ","],
    ["AZERTY", ".", { code: "Comma", ...chord }, "Ctrl+Shift+."],
    ["Dvorak", ",", { code: "KeyW" }, ","],
    ["Dvorak", ";", { code: "KeyZ" }, ";"],
    ["Dvorak", ">", { code: "KeyE", ...chord }, "Ctrl+Shift+."],
    ["Dvorak", "V", { code: "Period", ...chord }, "Ctrl+Shift+V"],
    ["Polish, with AltGr", "ą", { code: "KeyA", getModifierState: (key) => key === "AltGraph" }, "ą"],
  ])("spells what is printed, on every layout: %s, %s", (_, key, more, spelled) => {
    expect(spell(stroke(key, more))).toBe(spelled);
  });

  it("prints strokes as they stand on the keys", () => {
    expect(printKeys("Ctrl+Shift+A")).toBe("Ctrl ⇧ A");
    expect(["+", "Ctrl+Shift+.", "G T"].map(printKeys)).toEqual(["+", "Ctrl ⇧ .", "G then T"]);
  });
});

describe("a stroke", () => {
  it.each(["Enter", " ", "1", "9"])("%j means nothing", (key) => {
    expect(resolveStroke(stroke(key), calm)).toBeNull();
  });

  it.each<[string, Partial<StrokeContext>]>([
    ["a text field", { inText: true }],
    ["a dialog", { covered: true }],
    ["the moment after the window gained focus", { sinceFocusMs: 399 }],
    ["the moment after a field that was typed in is gone", { sinceTypedMs: 999 }],
    ["single keys switched off", { singleKeysOff: true }],
  ])("of a single key is dead in %s", (_, context) => {
    for (const key of ["a", "d", "z", "j", "D"]) {
      expect(resolveStroke(stroke(key, { shiftKey: key === "D" }), { ...calm, ...context })).toBeNull();
    }
  });

  it("lets Escape and chords through where single keys are dead", () => {
    const context = { ...calm, inText: true, covered: true, sinceFocusMs: 0 };
    expect(resolveStroke(stroke("Escape"), context)).toEqual({ command: "back" });
    expect(resolveStroke(stroke("A", { ctrlKey: true, shiftKey: true }), context)).toEqual({ command: "approvePath" });
  });

  it("reads two strokes as one command", () => {
    expect(resolveStroke(stroke("g"), calm)).toEqual({ prefix: "G" });
    expect(resolveStroke(stroke("q"), { ...calm, prefix: "G" })).toEqual({ command: "inbox" });
  });
});
