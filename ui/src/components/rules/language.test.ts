import { describe, expect, it } from "vitest";
import type { RuleWords } from "../../ipc/generated";
import { suggest } from "./language";

const words: RuleWords = {
  fields: ["id", "effect", "expires_at"],
  tests: ["eq", "glob"],
  variables: ["args", "tool"],
  functions: ["size"],
};
const labels = (before: string): readonly string[] | null =>
  suggest(before, words)?.options.map((option) => option.label) ?? null;

describe("what can be written at a place of a rule", () => {
  it.each<[string, readonly string[] | null]>([
    ["ef", ["id", "effect", "expires_at"]],
    ['effect = "a', ['"approve"', '"ask"', '"deny"']],
    ['risk = ["low", "', ['"safe"', '"low"', '"medium"', '"high"', '"critical"']],
    ['args."/id" = { gl', ["eq", "glob"]],
    ['args."/id" = { eq = "x', null],
    ['shell = "', ['"powershell"']],
    ["when = 'si", ["args", "tool", "size"]],
    ["when = 'args.to.", ["size"]],
    ['name = "some wo', null],
  ])("%s", (before, expected) => {
    expect(labels(before)).toEqual(expected);
  });

  it("writes a command and a path with the pointer of their argument", () => {
    const applied = suggest("", { ...words, fields: ["command", "path", "writes", "id"] })?.options;
    expect(applied?.map((option) => option.apply)).toEqual([
      'command."/command" = ["',
      'path."/file_path" = ["',
      'writes = ["',
      undefined,
    ]);
  });

  it("replaces what is written of the word, quotes included", () => {
    expect(suggest('effect = "a', words)?.from).toBe("effect = ".length);
    expect(suggest("when = 'size(ar", words)?.from).toBe("when = 'size(".length);
  });
});
