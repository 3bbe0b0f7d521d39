import { expect, it } from "vitest";
import { arg, card } from "../../../test/build";
import { plainText } from "../../components/shown";
import type { ArgEntry } from "../../ipc/generated";
import { differing } from "./differing";

const secret: ArgEntry = { name: null, value: [{ type: "hidden", reveal: 0, characters: 9, digest: "aa" }] };

it.each<[string, ArgEntry[][], string[]]>([
  ["one alone shows all of them", [[arg("to", '"ann"'), arg("n", "1")]], ['to: "ann", n: 1']],
  [
    "several show only those that are not the same in all",
    [
      [arg("to", '"ann"'), arg("n", "1"), arg("cc", '"x"')],
      [arg("to", '"bob"'), arg("n", "1"), arg("cc", '"x"')],
      [arg("to", '"bob"'), arg("n", "1")],
    ],
    ['to: "ann", cc: "x"', 'to: "bob", cc: "x"', 'to: "bob"'],
  ],
  ["equal ones show nothing", [[arg("n", "1")], [arg("n", "1")]], ["", ""]],
  ["what is hidden stays hidden", [[secret]], ["hidden"]],
  ["marks stay", [[arg("to⟨U+202E⟩", '"a"')]], ['to⟨U+202E⟩: "a"']],
])("%s", (_, args, lines) => {
  const cards = args.map((entries, place) => card({ key: `a/b/${place}`, args: entries }));
  const found = differing(cards);
  expect(cards.map(({ key }) => plainText(found.get(key) ?? []))).toEqual(lines);
});

it("is one line, however long they are, and never half of a character", () => {
  const [line = ""] = [...differing([card({ args: [arg("n", "😀".repeat(500))] })]).values()].map(plainText);
  expect(line.length).toBeLessThanOrEqual(161);
  expect(line).toMatch(/^n: (😀)+…$/u);
});
