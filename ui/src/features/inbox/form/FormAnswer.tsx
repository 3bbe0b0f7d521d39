import { useEffect, useMemo, useRef, useState } from "react";
import { Button } from "../../../components/Button";
import type { EditorProblem } from "../../../components/code/CodeField";
import { plainText } from "../../../components/shown";
import { ShownText } from "../../../components/ShownText";
import { Region } from "../../../components/Region";
import type { FormView } from "../../../ipc/generated";
import { JsonEditor } from "../edit/JsonEditor";
import { Fields } from "./Fields";
import { fromJson, pruned, readStructure, toJson } from "./structure";
import { useAnswerCheck } from "./useAnswerCheck";

interface FormAnswerProps {
  readonly requestKey: string;
  readonly form: FormView;
  readonly busy: boolean;
  /** What was filled in before and not sent, as JSON. */
  readonly kept: string | null;
  readonly onKeep: (json: string) => void;
  readonly onAnswer: (json: string) => void;
  readonly onClose: () => void;
}

/** What takes the focus of the fields. */
const CONTROLS = "input, textarea, select, .field-list button";

/** Answers a form by its fields, or as JSON. Nothing is sent that its schema does not allow. */
export const FormAnswer = ({ requestKey, form, busy, kept, onKeep, onAnswer, onClose }: FormAnswerProps) => {
  const { fields } = form;
  const structure = useMemo(() => (fields === null ? null : readStructure(fields)), [fields]);
  const [json, setJson] = useState(() => kept ?? toJson(fromJson(fields?.initial ?? "{}")));
  const [data, setData] = useState(() => fromJson(json));
  /** What the editor begins with; what is typed there does not come back to it. */
  const [written, setWritten] = useState(json);
  const [beside, setBeside] = useState(false);
  const check = useAnswerCheck(requestKey, structure, data, json);
  const place = useRef<HTMLElement>(null);
  const [refused, setRefused] = useState(0);
  const sending = useRef(false);
  const latest = useRef(json);

  const showsFields = structure !== null;
  useEffect(() => {
    if (showsFields) place.current?.querySelector<HTMLElement>(CONTROLS)?.focus();
  }, [showsFields]);
  // A removed entry may have had the focus: without it Ctrl Enter would send nothing.
  useEffect(() => {
    if (document.activeElement === document.body) place.current?.querySelector<HTMLElement>(CONTROLS)?.focus();
  }, [data]);
  useEffect(() => {
    if (refused > 0) place.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [refused]);

  const keep = (next: string): void => {
    latest.current = next;
    setJson(next);
    onKeep(next);
  };
  const send = async (): Promise<void> => {
    if (sending.current || busy) return;
    sending.current = true;
    try {
      const fits = await check.mayBeSent();
      // What was typed meanwhile was not checked.
      if (fits && latest.current === json) onAnswer(json);
      else setRefused((count) => count + 1);
    } finally {
      sending.current = false;
    }
  };
  const marks = useMemo(
    (): readonly EditorProblem[] => check.others.map(({ line, message }) => ({ line, text: plainText(message) })),
    [check.others],
  );
  const editor = (
    <JsonEditor
      initial={written}
      label="Answer as JSON"
      problems={marks}
      takesFocus={!showsFields}
      onChange={(next) => {
        const read = fromJson(next);
        if (read !== undefined) setData(read);
        keep(next);
      }}
      onSubmit={() => void send()}
    />
  );
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Ctrl Enter sends from every field
    <section
      ref={place}
      aria-label="Answer"
      className="flex max-h-[58%] min-h-0 shrink-0 flex-col border-t border-line bg-panel"
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !event.ctrlKey || event.defaultPrevented) return;
        event.preventDefault();
        void send();
      }}
    >
      {form.jsonOnly === null ? null : (
        <p className="m-0 px-7 pt-3 text-text-2">
          This form is answered as JSON: <ShownText text={form.jsonOnly} />.
        </p>
      )}
      <div className="flex min-h-0 flex-1">
        {structure === null || fields === null ? (
          <div className="flex h-56 min-w-0 flex-1 px-7 py-3">{editor}</div>
        ) : (
          <Region label="Fields" className="field-list min-w-0 flex-1 px-7 py-4">
            <Fields
              structure={structure}
              texts={fields.texts}
              problems={check.beside}
              data={data}
              onChange={(next) => {
                const text = toJson(pruned(structure, next));
                setData(next);
                setWritten(text);
                keep(text);
              }}
            />
          </Region>
        )}
        {beside && showsFields ? <div className="flex w-2/5 min-w-0 py-4 pr-7">{editor}</div> : null}
      </div>
      <div
        role="alert"
        className="max-h-28 shrink-0 overflow-auto px-7 text-[12.5px] text-bad"
        data-testid="answer-problems"
      >
        {check.trouble}
        {check.others.map((problem, index) => (
          // Problems are drawn anew for every check.
          // oxlint-disable-next-line react/no-array-index-key
          <p key={index} className="m-0">
            {problem.line === null ? "" : `Line ${problem.line}: `}
            <code className="font-mono">
              <ShownText text={problem.path} />
            </code>{" "}
            <ShownText text={problem.message} />
          </p>
        ))}
      </div>
      <div className="flex shrink-0 gap-2.5 border-t border-line-soft px-7 py-[13px]">
        <Button disabled={busy} onClick={() => void send()}>
          Answer <kbd className="kbd">Ctrl Enter</kbd>
        </Button>
        <Button tone="quiet" onClick={onClose}>
          Back <kbd className="kbd">Esc</kbd>
        </Button>
        {showsFields ? (
          <Button
            tone="quiet"
            className="ml-auto"
            aria-pressed={beside}
            onClick={() => {
              setBeside((is) => !is);
            }}
          >
            {beside ? "Hide JSON" : "Show JSON"}
          </Button>
        ) : null}
      </div>
    </section>
  );
};
