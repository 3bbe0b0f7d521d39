/**
 * How the form library's parts look here. Whatever it would write itself, no text of an agent among it, is left out.
 */
import type {
  ArrayFieldItemTemplateProps,
  ArrayFieldTemplateProps,
  FieldTemplateProps,
  ObjectFieldTemplateProps,
} from "@rjsf/utils";
import { Plus, X } from "lucide-react";
import { useId, type ReactNode } from "react";
import { Button } from "../../../components/Button";
import { useField } from "./context";
import { FieldProblem, focusField, FieldTitle, FieldWords, Suggestion } from "./FieldFrame";
import type { Structure } from "./structure";

interface GroupProps {
  readonly of: Structure;
  readonly path: readonly (string | number)[];
  readonly required: boolean;
  readonly filled: unknown;
  readonly children: ReactNode;
}

/** Several fields under one title; the form itself is not drawn as one. */
const Group = ({ of, path, required, filled, children }: GroupProps) => {
  const field = useField(of, path);
  const id = useId();
  const last = path.at(-1);
  const isNamed = path.length > 0 || field.title !== null || field.description !== null;
  return (
    <div
      role="group"
      aria-labelledby={`${id}-label`}
      aria-describedby={`${id}-words ${id}-problem`}
      data-field="group"
      tabIndex={-1}
      className={`outline-none ${path.length === 0 ? "grid gap-5" : "grid gap-3 border-l-2 border-line pl-4"}`}
    >
      {isNamed ? (
        <div className="grid gap-1.5">
          <span id={`${id}-label`} className="font-semibold">
            {typeof last === "number" ? `Entry ${last + 1} ` : null}
            <FieldTitle field={field} required={required && typeof last === "string"} />
          </span>
          <FieldWords field={field} id={`${id}-words`} />
        </div>
      ) : null}
      {children}
      <Suggestion
        field={field}
        taken={filled !== undefined && JSON.stringify(filled) === JSON.stringify(of.suggested?.value)}
      />
      {path.length === 0 && of.type === "object" ? null : <FieldProblem field={field} id={`${id}-problem`} />}
    </div>
  );
};

export const FieldTemplate = ({ children }: FieldTemplateProps) => children;

export const ObjectFieldTemplate = ({
  schema,
  fieldPathId,
  required = false,
  formData,
  properties,
}: ObjectFieldTemplateProps) => (
  <Group of={schema as unknown as Structure} path={fieldPathId.path} required={required} filled={formData}>
    {properties.map(({ content }) => content)}
  </Group>
);

export const ArrayFieldTemplate = ({
  schema,
  fieldPathId,
  required = false,
  formData,
  items,
  canAdd,
  onAddClick,
}: ArrayFieldTemplateProps) => (
  <Group of={schema as unknown as Structure} path={fieldPathId.path} required={required} filled={formData}>
    {items}
    {canAdd === true ? (
      <Button className="justify-self-start !py-1.5" onClick={onAddClick}>
        <Plus size={14} aria-hidden="true" /> Add
      </Button>
    ) : null}
  </Group>
);

export const ArrayFieldItemTemplate = ({ children, buttonsProps, index }: ArrayFieldItemTemplateProps) => (
  <div className="flex items-start gap-2">
    <div className="max-w-2xl min-w-0 flex-1">{children}</div>
    <Button
      tone="quiet"
      className="!px-2 !py-1.5"
      aria-label={`Remove entry ${index + 1}`}
      onClick={(event) => {
        focusField(event.currentTarget);
        buttonsProps.onRemoveItem(event);
      }}
    >
      <X size={14} aria-hidden="true" />
    </Button>
  </div>
);
