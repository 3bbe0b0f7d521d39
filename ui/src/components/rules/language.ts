/** Rules in the editor: TOML, and what can be written at a place. */
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { StreamLanguage } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import type { Extension } from "@codemirror/state";
import type { RuleWords } from "../../ipc/generated";

const VALUES: Record<string, readonly string[]> = {
  effect: ['"approve"', '"ask"', '"deny"'],
  enabled: ["true", "false", '"shadow"'],
  only_args: ["true", "false"],
  risk: ['"safe"', '"low"', '"medium"', '"high"', '"critical"'],
  kind: ['"tool_call"', '"question"', '"form"'],
  shell: ['"powershell"'],
};

/** Fields that are written with an argument's pointer, as most tools name it. */
const POINTED: Record<string, { readonly apply: string; readonly detail: string }> = {
  args: { apply: 'args."/', detail: "an argument" },
  command: { apply: 'command."/command" = ["', detail: "read as the shell would" },
  path: { apply: 'path."/file_path" = ["', detail: "read as the file system would" },
  writes: { apply: 'writes = ["', detail: "files that a command may be redirected to" },
};

const options = (words: readonly string[], type: string, detail?: string): Completion[] =>
  words.map((label) => ({ label, type, ...(detail === undefined ? {} : { detail }) }));

const pointed = (option: Completion): Completion => {
  const more = POINTED[option.label];
  return more === undefined ? option : { ...option, apply: more.apply, detail: more.detail };
};

/** What fits behind `before`, the line up to the cursor; from which place in it on. */
export const suggest = (
  before: string,
  words: RuleWords,
): { readonly from: number; readonly options: Completion[] } | null => {
  const tail = /[A-Za-z_]*$/.exec(before)?.[0] ?? "";
  const from = before.length - tail.length;
  if (/^\s*when\s*=\s*['"]/.test(before)) {
    // A dot is followed by a name of the arguments, or a function of a value.
    const behindDot = before[from - 1] === ".";
    return {
      from,
      options: [
        ...(behindDot ? [] : options(words.variables, "variable", "of the request")),
        ...options(words.functions, "function"),
      ],
    };
  }
  if (/^\s*args\."[^"]*"\s*=\s*\{[^}]*$/.test(before) && /[{,]\s*[a-z_]*$/.test(before))
    return { from, options: options(words.tests, "property", "test") };
  const field = /^\s*([a-z_]+)\s*=\s*(?:\[\s*(?:"[a-z_]*"\s*,\s*)*)?("?[a-z]*)$/.exec(before);
  const values = field === null ? undefined : VALUES[field[1] ?? ""];
  if (values !== undefined)
    return { from: before.length - (field?.[2]?.length ?? 0), options: options(values, "constant") };
  if (/^\s*[a-z_]*$/.test(before))
    return {
      from,
      options: options(words.fields, "property", "field").map(pointed),
    };
  return null;
};

const complete =
  (words: RuleWords) =>
  (context: CompletionContext): CompletionResult | null => {
    const line = context.state.doc.lineAt(context.pos);
    const found = suggest(line.text.slice(0, context.pos - line.from), words);
    if (found === null || (!context.explicit && found.from + line.from === context.pos)) return null;
    return { from: line.from + found.from, options: found.options, validFor: /^"?[A-Za-z_]*$/ };
  };

/** The extensions of a rule's editor. */
export const ruleLanguage = (words: RuleWords): Extension => [
  StreamLanguage.define(toml),
  autocompletion({ override: [complete(words)], icons: false }),
];
