import { describe, expect, it } from "vitest";
import { setupForm, setupKey, shown } from "../../../test/build";
import { clashes, editsOf, groupsOf, startText, typedWith } from "./drafts";

const chosen = { json: '"Hi"', fits: true, by: shown("ann"), atMs: 0 };
const text = (value: string): { type: "text"; text: string } => ({ type: "text", text: value });

describe("drafts of a setup", () => {
  it("are forgotten when they say what is", () => {
    const key = setupKey({ key: "greeting", kind: "string_short", chosen });
    const form = setupForm({ declared: { type: "keys", keys: [key] } });
    expect(startText(key)).toBe("Hi");
    const typed = typedWith(undefined, form, key, text("Ho"));
    expect(typed && editsOf(form, typed)).toEqual([{ type: "set", key: "greeting", json: '"Ho"' }]);
    expect(typedWith(typed, form, key, text("Hi"))).toBeUndefined();
    expect(typedWith(typed, form, key, null)).toBeUndefined();
    expect(typedWith(undefined, form, setupKey({ chosen: null }), { type: "default" })).toBeUndefined();
    expect(typedWith(undefined, form, key, text(""))?.typed).toEqual({ greeting: text("") });
  });

  it("remember the form that the first of them was typed over, and clash only where both changed the same key", () => {
    const keys = [setupKey({ key: "a" }), setupKey({ key: "b" })];
    const form = setupForm({ revision: 1, declared: { type: "keys", keys } });
    const first = typedWith(undefined, form, keys[0] ?? setupKey(), text("2"));
    const newer = setupForm({
      revision: 2,
      declared: {
        type: "keys",
        keys: [setupKey({ key: "a" }), setupKey({ key: "b", chosen: { ...chosen, json: "9" }, value: shown("9") })],
      },
    });
    const both = typedWith(first, newer, setupKey({ key: "b" }), text("3"));
    expect([first?.base.revision, both?.base.revision]).toEqual([1, 1]);
    expect(first && clashes(newer, first)).toEqual([]);
    expect(both && clashes(newer, both)).toEqual(["b"]);
  });

  it("are in the groups of the form, in its order", () => {
    const keys = [
      setupKey({ key: "a", group: shown("Z") }),
      setupKey({ key: "b", group: null }),
      setupKey({ key: "c", group: shown("Z") }),
    ];
    expect(groupsOf(keys).map((group) => [group.name, group.keys.map((key) => key.key).join("")])).toEqual([
      ["Z", "ac"],
      ["", "b"],
    ]);
  });
});
