import type { FieldProps } from "@rjsf/utils";
import { useId } from "react";
import { useField } from "./context";
import { ChoiceControl, type Option } from "./ChoiceControl";
import { FieldFrame, FieldProblem, FieldTitle, FieldWords, Suggestion } from "./FieldFrame";
import type { Structure } from "./structure";
import { TextControl } from "./TextControl";

const YES_NO: readonly Option[] = [
  { label: [{ kind: "text", text: "Yes" }], sends: null, value: true },
  { label: [{ kind: "text", text: "No" }], sends: null, value: false },
];

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** A field that is filled in as one: a text, a number, a choice. */
export const Leaf = ({ schema, formData, fieldPathId, onChange, required = false }: FieldProps) => {
  const of = schema as unknown as Structure;
  const { path } = fieldPathId;
  const field = useField(of, path);
  const id = useId();
  const inList = typeof path.at(-1) === "number";
  const options =
    of.kind === "boolean"
      ? YES_NO
      : of.choices?.map(({ label, sends, value }) => ({
          label: field.textOf(label),
          sends: sends === undefined ? null : field.textOf(sends),
          value,
        }));
  const control = {
    id,
    value: formData as unknown,
    required,
    invalid: field.problem !== null,
    describedBy: `${id}-words ${id}-problem`,
    onChange: (value: unknown) => {
      onChange(value, path);
    },
  };
  const title = inList ? `Entry ${Number(path.at(-1)) + 1}` : <FieldTitle field={field} required={required} />;
  return (
    <FieldFrame>
      {options === undefined ? (
        <label htmlFor={id} className={inList ? "sr-only" : "font-semibold"}>
          {title}
        </label>
      ) : (
        <span id={`${id}-label`} className={inList ? "sr-only" : "font-semibold"}>
          {title}
        </span>
      )}
      <FieldWords field={field} id={`${id}-words`} />
      {options === undefined ? (
        <TextControl {...control} isNumber={of.kind !== "string"} long={of.long === true} />
      ) : (
        <ChoiceControl {...control} options={options} several={of.kind === "choices"} />
      )}
      <Suggestion field={field} taken={formData !== undefined && isSame(formData, of.suggested?.value)} />
      <FieldProblem field={field} id={`${id}-problem`} />
    </FieldFrame>
  );
};
