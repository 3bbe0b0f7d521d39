import type { ReactNode } from "react";
import { Button } from "../../../components/Button";
import { ShownText } from "../../../components/ShownText";
import type { Shown } from "../../../ipc/generated";
import type { useField } from "./context";

type Field = ReturnType<typeof useField>;

/** Between the parts of a name, which otherwise run together for a screen reader. */
const COMMA = <span className="sr-only">, </span>;

/** The name of a field: its title, what is sent for it where that differs, and whether it may stay empty. */
export const FieldTitle = ({ field, required }: { readonly field: Field; readonly required: boolean }) => (
  <>
    {field.title === null ? null : <ShownText text={field.title} />}
    {field.title !== null && field.name !== null ? COMMA : null}
    {field.name === null ? null : (
      <code className="ml-2 font-mono text-[11.5px] font-normal text-text-3">
        <ShownText text={field.name} />
      </code>
    )}
    {required ? COMMA : null}
    {required ? <span className="ml-2 text-[11.5px] font-normal text-text-3">required</span> : null}
  </>
);

const Line = ({ id, text, className }: { readonly id?: string; readonly text: Shown; readonly className: string }) => (
  <p id={id} className={`m-0 text-[12.5px] ${className}`}>
    <ShownText text={text} block />
  </p>
);

/** What the agent writes about a field. */
export const FieldWords = ({ field, id }: { readonly field: Field; readonly id: string }) => (
  <div id={id} className="grid gap-0.5 empty:hidden">
    {field.description === null ? null : <Line text={field.description} className="text-text-2" />}
    {field.hint === null ? null : <Line text={field.hint} className="text-text-3" />}
  </div>
);

export const FieldProblem = ({ field, id }: { readonly field: Field; readonly id: string }) =>
  field.problem === null ? null : <Line id={id} text={field.problem} className="text-bad" />;

/** Gives the keyboard to the field around something that goes; to a group as a whole. */
export const focusField = (from: Element): void => {
  const field = from.closest<HTMLElement>("[data-field]");
  const control =
    field?.dataset["field"] === "one" ? field.querySelector<HTMLElement>("input, textarea, select") : field;
  control?.focus();
};

interface SuggestionProps {
  readonly field: Field;
  /** The field holds it. */
  readonly taken: boolean;
}

/** The agent's default: its own words, never a person's answer before that person takes it. */
export const Suggestion = ({ field, taken }: SuggestionProps) => {
  if (field.suggestion === null) return null;
  if (taken) return <p className="m-0 text-[12.5px] text-warn">Suggested by the agent</p>;
  return (
    <div className="flex items-start gap-2 text-[12.5px] text-text-2">
      <span className="max-h-24 min-w-0 overflow-auto py-0.5">
        The agent suggests: <ShownText text={field.suggestion} block />
      </span>
      {field.takeSuggestion === null ? null : (
        <Button
          className="!px-2 !py-0.5 !text-[12px]"
          onClick={({ currentTarget }) => {
            // The button goes with it.
            focusField(currentTarget);
            field.takeSuggestion?.();
          }}
        >
          Use
        </Button>
      )}
    </div>
  );
};

/** Label, words, control, suggestion and problem of what is filled in as one. */
export const FieldFrame = ({ children }: { readonly children: ReactNode }) => (
  <div data-field="one" className="grid gap-1.5">
    {children}
  </div>
);
