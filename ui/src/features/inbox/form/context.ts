import { createContext, useContext } from "react";
import type { Shown } from "../../../ipc/generated";
import { pointerOf, textAt, type Structure, type TextPlace } from "./structure";

interface FormState {
  readonly texts: readonly Shown[];
  /** What is wrong, by place. */
  readonly problems: ReadonlyMap<string, Shown>;
  readonly fill: (path: readonly (string | number)[], value: unknown) => void;
}

export const FormStateContext = createContext<FormState | null>(null);

interface FieldView {
  readonly title: Shown | null;
  readonly name: Shown | null;
  readonly description: Shown | null;
  readonly hint: Shown | null;
  readonly problem: Shown | null;
  readonly suggestion: Shown | null;
  /** Fills in what the agent suggests; null where no field would show it as it is. */
  readonly takeSuggestion: (() => void) | null;
  readonly textOf: (place: TextPlace) => Shown;
}

/** What a field shows. */
export const useField = (of: Structure, path: readonly (string | number)[]): FieldView => {
  const form = useContext(FormStateContext);
  if (form === null) throw new Error("a field outside of a form");
  const at = (place: TextPlace | undefined): Shown | null => textAt(form.texts, place);
  const { suggested } = of;
  return {
    title: at(of.title),
    name: at(of.name),
    description: at(of.description),
    hint: at(of.hint),
    problem: form.problems.get(pointerOf(path)) ?? null,
    suggestion: at(suggested?.text),
    takeSuggestion:
      suggested === undefined || !("value" in suggested)
        ? null
        : () => {
            form.fill(path, suggested.value);
          },
    textOf: (place) => at(place) ?? [],
  };
};
