import { useMemo, useState } from "react";
import { Button } from "../../../components/Button";
import { Section } from "../../../components/Section";
import { ShownText } from "../../../components/ShownText";
import type { FormView, Shown } from "../../../ipc/generated";
import { readStructure, textAt, type Structure } from "./structure";

interface OutlineProps {
  readonly of: Structure;
  readonly texts: readonly Shown[];
}

const Outline = ({ of, texts }: OutlineProps) => (
  <ul className="m-0 grid list-none gap-1 p-0">
    {Object.entries(of.properties ?? {}).map(([name, field]) => {
      const description = textAt(texts, field.description);
      return (
        <li key={name} className="selectable">
          <b className="font-semibold">
            <ShownText text={textAt(texts, field.title) ?? []} />
          </b>
          {of.required?.includes(name) === true ? (
            <span className="ml-2 text-[11.5px] text-text-3">required</span>
          ) : null}
          {description === null ? null : (
            <span className="ml-2 text-text-2">
              <ShownText text={description} />
            </span>
          )}
          {field.properties === undefined ? null : (
            <div className="mt-1 border-l-2 border-line pl-4">
              <Outline of={field} texts={texts} />
            </div>
          )}
        </li>
      );
    })}
  </ul>
);

/** What a form asks for; its schema on demand, and where it is all that there is. */
export const FormOutline = ({ form }: { readonly form: FormView }) => {
  const { fields } = form;
  const structure = useMemo(() => (fields === null ? null : readStructure(fields)), [fields]);
  const [open, setOpen] = useState(structure === null);
  const title = textAt(fields?.texts ?? [], structure?.title);
  const description = textAt(fields?.texts ?? [], structure?.description);
  return (
    <Section title="What the form asks for">
      {title === null ? null : (
        <p className="selectable mt-0 mb-1 text-[15px]">
          <ShownText text={title} />
        </p>
      )}
      {description === null ? null : (
        <p className="selectable mt-0 mb-2 text-text-2">
          <ShownText text={description} block />
        </p>
      )}
      {structure === null || fields === null ? null : <Outline of={structure} texts={fields.texts} />}
      {structure === null ? null : (
        <Button
          tone="quiet"
          className="mt-2 -ml-2 !px-2 !py-1 !text-[12px]"
          aria-expanded={open}
          onClick={() => {
            setOpen((is) => !is);
          }}
        >
          {open ? "Hide schema" : "Show schema"}
        </Button>
      )}
      {open ? (
        <pre
          className={`selectable m-0 mt-1 overflow-auto rounded-lg border border-line bg-panel px-3 py-2 font-mono
          text-xs`}
        >
          <ShownText text={form.schema} block />
        </pre>
      ) : null}
    </Section>
  );
};
