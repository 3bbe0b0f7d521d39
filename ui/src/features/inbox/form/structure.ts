/** The fields of a form as the core hands them over, and what is filled in. Pure. */
import type { FormFields, Shown } from "../../../ipc/generated";

/** Placeholder of a text of the agent: its place among the form's texts. */
export type TextPlace = string;

export interface Choice {
  readonly label: TextPlace;
  readonly value: unknown;
  /** What is sent, where the label says something else. */
  readonly sends?: TextPlace;
}

/** A JSON Schema of structure alone. What a person fills in as one has a `kind`, whatever its `type` says. */
export interface Structure {
  readonly type: "object" | "array" | "string";
  readonly title?: TextPlace;
  /** The name that is sent, where the title says something else. */
  readonly name?: TextPlace;
  readonly description?: TextPlace;
  readonly hint?: TextPlace;
  readonly kind?: "string" | "number" | "integer" | "boolean" | "choice" | "choices";
  readonly long?: boolean;
  readonly choices?: readonly Choice[];
  /** The agent's default; without a value where a field would not show it as it is. */
  readonly suggested?: { readonly text: TextPlace; readonly value?: unknown };
  readonly properties?: Readonly<Record<string, Structure>>;
  readonly required?: readonly string[];
  readonly items?: Structure;
}

export const readStructure = (fields: FormFields): Structure => JSON.parse(fields.structure) as Structure;

export const textAt = (texts: readonly Shown[], place: TextPlace | undefined): Shown | null =>
  place === undefined ? null : (texts[Number(place)] ?? null);

type Path = readonly (string | number)[];

export const pointerOf = (path: Path): string =>
  path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

const stepsOf = (pointer: string): readonly string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What is filled in at a place. */
export const valueAt = (data: unknown, pointer: string): unknown =>
  stepsOf(pointer).reduce<unknown>(
    (value, step) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, step)
        ? (value as Record<string, unknown>)[step]
        : undefined,
    data,
  );

/** The same with another value at a place. */
export const withValue = (data: unknown, path: Path, value: unknown): unknown => {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (typeof step === "number") {
    const list: readonly unknown[] = Array.isArray(data) ? data : [];
    return list.with(step, withValue(list[step], rest, value));
  }
  const object = isObject(data) ? data : {};
  return { ...object, [step]: withValue(object[step], rest, value) };
};

/** Whether a field shows what is wrong at a place; the form as a whole is not a field. */
export const isDrawn = (structure: Structure, pointer: string): boolean => {
  let at: Structure | undefined = structure;
  for (const step of stepsOf(pointer)) at = at?.items ?? at?.properties?.[step];
  return at !== undefined && (pointer !== "" || at.type !== "object");
};

const NEEDED = "Required.";
const NO_NUMBER = "Write a number of at most 15 digits.";

/** What keeps an answer from being sent, by place: what is required and empty, and what is not a number. */
export const gapsOf = (structure: Structure, data: unknown): ReadonlyMap<string, string> => {
  const gaps = new Map<string, string>();
  const look = (at: Structure, value: unknown, pointer: string, required: boolean): void => {
    if (at.type === "object" && (required || value !== undefined)) {
      for (const [name, field] of Object.entries(at.properties ?? {}))
        look(
          field,
          valueAt(value, pointerOf([name])),
          pointer + pointerOf([name]),
          at.required?.includes(name) === true,
        );
    } else if (at.items !== undefined && Array.isArray(value)) {
      for (const [index, entry] of value.entries()) look(at.items, entry, `${pointer}/${index}`, true);
    } else if (value === undefined || value === null) {
      if (required) gaps.set(pointer, NEEDED);
    } else if ((at.kind === "number" || at.kind === "integer") && typeof value === "string") {
      gaps.set(pointer, NO_NUMBER);
    }
  };
  look(structure, pruned(structure, data), "", true);
  return gaps;
};

/** Without fields that are empty, and without what may stay away and has nothing in it. */
export const pruned = (structure: Structure, data: unknown): unknown => {
  if (structure.items !== undefined && Array.isArray(data)) {
    const { items } = structure;
    return data.map((entry) => pruned(items, entry));
  }
  if (structure.type !== "object" || !isObject(data)) return data;
  const entries = Object.entries(data).flatMap(([name, value]): [string, unknown][] => {
    const field = structure.properties?.[name];
    const kept = field === undefined ? value : pruned(field, value);
    const isEmpty = field?.type === "object" && isObject(kept) && Object.keys(kept).length === 0;
    const isNeeded = structure.required?.includes(name) === true;
    return kept === undefined || (isEmpty && !isNeeded) ? [] : [[name, kept]];
  });
  return Object.fromEntries(entries);
};

/** Characters that an editor would not show. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;
const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");

/** JSON for an editor. */
export const toJson = (data: unknown): string =>
  data === undefined
    ? ""
    : JSON.stringify(data, null, 2).replaceAll(UNSEEN, (found) => (found === "\n" ? found : escaped(found)));

/** What a text of JSON holds; undefined where it is none. */
export const fromJson = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/u;
/** So many digits come through as they were typed. */
const DIGITS = 15;

/** A typed number; the text itself where it is none that is sent exactly as it was typed. */
export const readNumber = (text: string): number | string => {
  const number = Number(text);
  const [digits = ""] = text
    .replace(/^[-0.]+/u, "")
    .replace(".", "")
    .split(/e/iu);
  // Beyond these, digits are lost: nothing is left of 1e-400.
  const isWithin = Number.isFinite(number) && (digits === "" || Math.abs(number) > 1e-300);
  return NUMBER.test(text) && digits.length <= DIGITS && isWithin ? number : text;
};
