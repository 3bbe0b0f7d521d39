/** What was typed into a setup form and is not saved. Pure, but for the drafts that are kept, at the end. */
import { createUnsaved } from "../../desk/unsaved";
import { plainText } from "../../components/shown";
import { everyWordIn } from "../../components/words";
import type { SetupEdit, SetupForm, SetupKeyView, SetupLineView, SetupType } from "../../ipc/generated";

/** `default` goes back to the agent's default; a text is the field's content. */
export type Draft = { readonly type: "default" } | { readonly type: "text"; readonly text: string };

/** The drafts of one agent, and the form that they were typed over. */
export interface Drafts {
  readonly base: SetupForm;
  readonly typed: Readonly<Record<string, Draft>>;
}

const isText = (kind: SetupType): boolean =>
  kind === "string_short" || kind === "string_long" || kind === "string_multiline";

export const keysOf = (form: SetupForm): readonly SetupKeyView[] =>
  form.declared.type === "keys" ? form.declared.keys : [];

/** What the field of a key holds before anybody types. */
export const startText = (key: SetupKeyView): string => {
  const json = key.chosen?.json ?? null;
  if (json === null) return "";
  if (!isText(key.kind)) return json;
  const value: unknown = JSON.parse(json);
  return typeof value === "string" ? value : json;
};

/** A field's text as the JSON of its type; for other text the console reports the fault, with its place. */
export const jsonOf = (kind: SetupType, text: string): string => (isText(kind) ? JSON.stringify(text) : text.trim());

/** Whether a draft differs from what is stored. */
const differs = (key: SetupKeyView, draft: Draft): boolean =>
  draft.type === "default"
    ? key.chosen !== null
    : key.chosen === null || key.chosen.json === null || draft.text !== startText(key);

/** The drafts with another one for a key; none, and one that changes nothing, is forgotten. */
export const typedWith = (
  before: Drafts | undefined,
  form: SetupForm,
  key: SetupKeyView,
  draft: Draft | null,
): Drafts | undefined => {
  const { [key.key]: _, ...others } = before?.typed ?? {};
  const typed = draft !== null && differs(key, draft) ? { ...others, [key.key]: draft } : others;
  return Object.keys(typed).length === 0 ? undefined : { base: before?.base ?? form, typed };
};

/** What is left of the drafts once `sent` was saved as `form`: what was typed since. */
export const leftAfter = (now: Drafts | undefined, sent: Drafts, form: SetupForm): Drafts | undefined => {
  const later = Object.entries(now?.typed ?? {}).filter(
    ([key, draft]) => JSON.stringify(draft) !== JSON.stringify(sent.typed[key]),
  );
  return later.length === 0 ? undefined : { base: form, typed: Object.fromEntries(later) };
};

export const editsOf = (form: SetupForm, drafts: Drafts): SetupEdit[] => {
  const keys = keysOf(form);
  return Object.entries(drafts.typed).map(([key, draft]) => {
    const kind = keys.find((other) => other.key === key)?.kind ?? "string_short";
    return { type: "set", key, json: draft.type === "default" ? null : jsonOf(kind, draft.text) };
  });
};

const current = (form: SetupForm, name: string): string => {
  const key = keysOf(form).find((other) => other.key === name);
  return JSON.stringify(key?.chosen === undefined || key.chosen === null ? null : [key.value, key.chosen.atMs]);
};

/** Keys that were typed here and changed by somebody else meanwhile. */
export const clashes = (form: SetupForm, drafts: Drafts): readonly string[] =>
  Object.keys(drafts.typed).filter((name) => current(form, name) !== current(drafts.base, name));

/** Keys with what they belong to, in the order of the form. */
export const groupsOf = (
  keys: readonly SetupKeyView[],
): readonly { readonly name: string; readonly keys: readonly SetupKeyView[] }[] => {
  const groups = new Map<string, SetupKeyView[]>();
  for (const key of keys) {
    const name = key.group === null ? "" : plainText(key.group);
    groups.set(name, [...(groups.get(name) ?? []), key]);
  }
  return [...groups].map(([name, members]) => ({ name, keys: members }));
};

/** Whether an agent fits what was typed: every word must occur in its name. */
export const fits = (line: SetupLineView, filter: string): boolean => everyWordIn(line.key, filter);

/** By `WORKSPACE/AGENT`: looking something up elsewhere loses nothing. */
export const setupDrafts = createUnsaved<Drafts>();
