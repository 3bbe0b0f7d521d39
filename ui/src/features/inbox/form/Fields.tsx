// The index would bring the library's own tests' checker, which compiles code.
import Form from "@rjsf/core/lib/components/Form.js";
import type { RJSFSchema, ValidatorType } from "@rjsf/utils";
import { useMemo } from "react";
import type { Shown } from "../../../ipc/generated";
import { FormStateContext } from "./context";
import { Leaf } from "./Leaf";
import { withValue, type Structure } from "./structure";
import { ArrayFieldItemTemplate, ArrayFieldTemplate, FieldTemplate, ObjectFieldTemplate } from "./templates";

/** The core checks answers, against the agent's own schema. What is drawn here leaves nothing to choose by checking. */
const UNCHECKED: ValidatorType = {
  isValid: () => true,
  rawValidation: () => ({}),
  validateFormData: () => ({ errors: [], errorSchema: {} }),
};

const FIELDS = { StringField: Leaf };
const TEMPLATES = { FieldTemplate, ObjectFieldTemplate, ArrayFieldTemplate, ArrayFieldItemTemplate };

/** Nothing is filled in by the library. */
const EMPTY = {
  emptyObjectFields: "skipDefaults",
  arrayMinItems: { populate: "never" },
  constAsDefaults: "never",
  requiredBooleanDefault: "skip",
} as const;

interface FieldsProps {
  readonly structure: Structure;
  readonly texts: readonly Shown[];
  readonly problems: ReadonlyMap<string, Shown>;
  readonly data: unknown;
  readonly onChange: (data: unknown) => void;
}

/** The fields of a form. */
export const Fields = ({ structure, texts, problems, data, onChange }: FieldsProps) => {
  const state = useMemo(
    () => ({
      texts,
      problems,
      fill: (path: readonly (string | number)[], value: unknown) => {
        onChange(withValue(data, path, value));
      },
    }),
    [data, onChange, problems, texts],
  );
  return (
    <FormStateContext value={state}>
      <Form
        tagName="div"
        schema={structure as unknown as RJSFSchema}
        validator={UNCHECKED}
        fields={FIELDS}
        templates={TEMPLATES}
        experimental_defaultFormStateBehavior={EMPTY}
        formData={data}
        noHtml5Validate
        showErrorList={false}
        onChange={(event) => {
          onChange(event.formData);
        }}
      >
        {/* Something in the place of the library's own button. */}
        <></>
      </Form>
    </FormStateContext>
  );
};
