import { describe, expect, it } from "vitest";
import {
  commandIds,
  definitionOf,
  printKeys,
  resolveStroke,
  spell,
  type Stroke,
  type StrokeContext,
  type StrokeResult,
} from "./hotkeys";

const stroke = (key: string, more: Partial<Stroke> = {}): Stroke => ({
  key,
  code: "",
  ctrlKey: false,
  altKey: false,
  metaKey: false,
  shiftKey: false,
  ...more,
});
const typed = (keys: string): Stroke =>
  stroke(keys.split(/\+(?=.)/).at(-1) ?? "", { shiftKey: keys.startsWith("Shift+") });
const calm: StrokeContext = {
  inText: false,
  covered: false,
  sinceFocusMs: 10_000,
  sinceTypedMs: 10_000,
  singleKeysOff: false,
  prefix: null,
};
const nothing: StrokeResult = { command: null, prefix: null, spent: false };
const runs = (command: StrokeResult["command"]): StrokeResult => ({ ...nothing, command });
const opens = (prefix: string): StrokeResult => ({ ...nothing, prefix });
const spent: StrokeResult = { ...nothing, spent: true };
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
      const [first = ""] = keys.split(" ");
      expect([first, `Shift+${first}`].some((spelled) => singles.has(spelled))).toBe(false);
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

  it("prints strokes as they are on the keys", () => {
    expect(printKeys("Ctrl+Shift+A")).toBe("Ctrl ⇧ A");
    expect(["+", "Ctrl+Shift+.", "G T"].map(printKeys)).toEqual(["+", "Ctrl ⇧ .", "G then T"]);
  });
});

describe("a stroke", () => {
  it.each(["1", "9"])("%j chooses an option, and lets no call run", (key) => {
    expect(resolveStroke(stroke(key), calm)).toEqual({ ...nothing, command: "option" });
    expect(definitionOf("option").approves).toBeUndefined();
  });

  it.each(["Enter", " "])("%j means nothing", (key) => {
    expect(resolveStroke(stroke(key), calm)).toEqual(nothing);
  });

  it.each<[string, Partial<StrokeContext>]>([
    ["a text field", { inText: true }],
    ["a dialog", { covered: true }],
    ["the moment after the window gained focus", { sinceFocusMs: 399 }],
    ["the moment after a field that was typed in is gone", { sinceTypedMs: 999 }],
    ["single keys switched off", { singleKeysOff: true }],
  ])("of a single key is dead in %s", (_, context) => {
    for (const key of ["a", "d", "z", "j", "D"]) {
      expect(resolveStroke(stroke(key, { shiftKey: key === "D" }), { ...calm, ...context })).toEqual(nothing);
    }
  });

  it("lets Escape and chords through where single keys are dead", () => {
    const context = { ...calm, inText: true, covered: true, sinceFocusMs: 0 };
    expect(resolveStroke(stroke("Escape"), context)).toEqual(runs("back"));
    expect(resolveStroke(stroke("A", { ctrlKey: true, shiftKey: true }), context)).toEqual(runs("approvePath"));
  });
});

describe("a sequence", () => {
  const open: StrokeContext = { ...calm, prefix: "G" };
  const single = everyKey.filter(({ keys }) => !/ |Ctrl|Escape/.test(keys));

  it.each<[string, Partial<Stroke>]>([
    ["g", {}],
    ["G", { shiftKey: true }],
  ])("begins with %s", (key, more) => {
    expect(resolveStroke(stroke(key, more), calm)).toEqual(opens("G"));
  });

  it.each(everyKey.filter(({ keys }) => keys.includes(" ")))(
    "is one command, in capitals too ($keys)",
    ({ id, keys }) => {
      const second = keys.split(" ")[1] ?? "";
      expect(resolveStroke(stroke(second.toLowerCase()), open)).toEqual(runs(id));
      expect(resolveStroke(stroke(second, { shiftKey: /[A-Z]/.test(second) }), open)).toEqual(runs(id));
    },
  );

  it.each(single)("leaves no single key what it is ($keys)", ({ id, keys }) => {
    expect(resolveStroke(typed(keys), calm)).toEqual(runs(id));
    const result = resolveStroke(typed(keys), open);
    expect(result.command).not.toBe(id);
    expect(result.command === null).toBe(result.spent);
  });

  it.each<[string, Partial<StrokeContext>]>([
    ["the window gained focus just now", { sinceFocusMs: 10 }],
    ["somebody typed just now", { sinceTypedMs: 10 }],
    ["a dialog is open", { covered: true }],
  ])("is opened also where single keys are dead for the moment: %s", (_, context) => {
    expect(resolveStroke(stroke("g"), { ...calm, ...context })).toEqual(opens("G"));
  });

  it.each<[string, Partial<StrokeContext>]>([
    ["in a field", { inText: true }],
    ["with single keys off", { singleKeysOff: true }],
  ])("does not begin %s", (_, context) => {
    expect(resolveStroke(stroke("g"), { ...calm, ...context })).toEqual(nothing);
  });

  it.each<[string, string, Partial<StrokeContext>]>([
    ["a key that the guard of the focus eats", "a", { sinceFocusMs: 10 }],
    ["a key that the guard of typing eats", "a", { sinceTypedMs: 10 }],
    ["a key that is held with others", "Shift", {}],
    ["its first stroke again", "g", {}],
  ])("stays open through %s", (_, key, context) => {
    expect(resolveStroke(stroke(key), { ...open, ...context })).toEqual(opens("G"));
  });

  it("is ended by Escape and by a chord that would approve, and neither does more", () => {
    expect(resolveStroke(stroke("Escape"), open)).toEqual(spent);
    expect(resolveStroke(stroke("A", { ctrlKey: true, shiftKey: true }), open)).toEqual(spent);
  });

  it("keeps neither panic back nor what belongs to a dialog or a field", () => {
    expect(resolveStroke(stroke(".", { ctrlKey: true, shiftKey: true }), open)).toEqual(runs("panic"));
    for (const over of [{ covered: true }, { inText: true }]) {
      expect(resolveStroke(stroke("Escape"), { ...open, ...over })).toEqual(runs("back"));
      expect(resolveStroke(stroke("a"), { ...open, ...over })).toEqual(nothing);
    }
  });
});
