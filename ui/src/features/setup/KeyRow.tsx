import { hasMarks, plainText } from "../../components/shown";
import { ShownText } from "../../components/ShownText";
import type { SetupEdit, SetupKeyView, SetupProblem } from "../../ipc/generated";
import { BindingLine } from "./BindingLine";
import { startText, type Draft } from "./drafts";
import { SetAt } from "./SetAt";
import { ValueField } from "./ValueField";

const TYPE: Record<SetupKeyView["kind"], string> = {
  string_short: "text",
  string_long: "text",
  string_multiline: "text, several lines",
  bool: "true or false",
  int: "whole number",
  float: "number",
  list_dict: "list of objects, JSON",
};
const LINK = "rounded text-accent hover:underline disabled:opacity-45";

const Elements = ({ field }: { readonly field: SetupKeyView }) => (
  <p className="mt-1 mb-0 text-[11.5px] text-text-3">
    Each object may hold{" "}
    {field.elements.map((element, place) => (
      <span key={element.name}>
        {place > 0 ? ", " : ""}
        <code className="font-mono text-text-2">{element.name}</code> ({TYPE[element.kind]}
        {element.description === null ? (
          ""
        ) : (
          <>
            : <ShownText text={element.description} />
          </>
        )}
        )
      </span>
    ))}
  </p>
);

/** Several lines stay several lines: a break is part of what counts. */
const Default = ({ field }: { readonly field: SetupKeyView }) => {
  const text = plainText(field.default);
  const look = text.includes("\n")
    ? "mt-1 block max-h-32 overflow-auto rounded-md border border-line-soft px-2 py-1"
    : "";
  return (
    <span className={`selectable text-text-2 ${look}`} data-testid="setup-default">
      {text === "" ? "empty" : <ShownText text={field.default} block />}
    </span>
  );
};

interface KeyRowProps {
  readonly field: SetupKeyView;
  readonly agent: string;
  readonly draft: Draft | undefined;
  readonly clash: boolean;
  readonly problems: readonly SetupProblem[];
  readonly disabled: boolean;
  /** Null takes back what was typed. */
  readonly onDraft: (draft: Draft | null) => void;
  readonly onBinding: (edit: SetupEdit) => Promise<void>;
}

/** One declared key: its value, whose it is, and when it spares a question. */
export const KeyRow = ({ field, agent, draft, clash, problems, disabled, onDraft, onBinding }: KeyRowProps) => {
  const id = `setup-${field.key}`;
  const { chosen } = field;
  const text =
    draft === undefined ? (chosen === null ? null : startText(field)) : draft.type === "text" ? draft.text : null;
  const usable = !hasMarks(field.default) && !field.secret && field.kind !== "bool";
  return (
    <div
      className={`row-line flex flex-wrap gap-x-6 gap-y-2 py-4 last:border-b-0
        ${draft === undefined ? "" : "-ml-3.5 border-l-[3px] border-l-accent pl-[11px]"}`}
      data-testid="setup-key"
      data-key={field.key}
      data-draft={draft?.type ?? ""}
    >
      <div className="w-[200px] max-w-full">
        <label
          id={`${id}-name`}
          htmlFor={id}
          className="block font-mono text-[12.5px] font-semibold [overflow-wrap:anywhere]"
        >
          {field.key}
        </label>
        <div className="mt-0.5 text-[11.5px] text-text-3">
          {TYPE[field.kind]}
          {field.importance === null ? null : (
            <>
              , importance <ShownText text={field.importance} />
            </>
          )}
        </div>
      </div>
      <div className="max-w-[680px] min-w-0 grow basis-[280px]">
        {field.description === null ? null : (
          <p className="selectable mt-0 mb-2 text-text-2">
            <span className="mr-1.5 rounded border border-line px-1 text-[10.5px] text-text-3">says</span>
            <ShownText text={field.description} block />
          </p>
        )}
        <ValueField
          field={field}
          id={id}
          text={text}
          wrong={problems.length > 0}
          labelledBy={`${id}-name`}
          describedBy={`${id}-state`}
          onText={(typed) => {
            onDraft({ type: "text", text: typed });
          }}
        />
        {field.elements.length > 0 ? <Elements field={field} /> : null}
        <div id={`${id}-state`}>
          {problems.map((problem, place) => (
            // Problems keep the order in which they were found.
            // oxlint-disable-next-line react/no-array-index-key
            <p key={place} role="alert" className="mt-1 mb-0 text-bad" data-testid="setup-problem">
              <code className="font-mono text-xs">
                <ShownText text={problem.path} />
              </code>
              : <ShownText text={problem.message} />
            </p>
          ))}
          {clash ? (
            <p role="note" className="mt-1 mb-0 text-warn" data-testid="setup-clash">
              Meanwhile it was set to “<ShownText text={field.value} />”
              {chosen === null ? (
                ", the default"
              ) : (
                <>
                  {" "}
                  by <ShownText text={chosen.by} />, <SetAt ms={chosen.atMs} />
                </>
              )}
              . Yours is kept and not saved.
            </p>
          ) : null}
          <div className="mt-1.5 flex flex-wrap items-baseline gap-x-3 text-[11.5px] text-text-3">
            {draft?.type === "default" ? (
              <span className="text-text-2">
                Goes back to the default “<ShownText text={field.default} />” when saved
              </span>
            ) : draft !== undefined ? (
              <span className="text-text-2">
                {draft.text === "" && field.kind.startsWith("string") ? "An empty text, not saved" : "Not saved"}
              </span>
            ) : chosen === null ? (
              <span>
                Using the default: <Default field={field} />
              </span>
            ) : (
              <span>
                Set by <ShownText text={chosen.by} />, <SetAt ms={chosen.atMs} />
                {plainText(field.default) === "" ? (
                  ""
                ) : (
                  <>
                    ; the default is <Default field={field} />
                  </>
                )}
              </span>
            )}
            {draft === undefined ? null : (
              <button
                type="button"
                className={LINK}
                disabled={disabled}
                onClick={() => {
                  onDraft(null);
                }}
              >
                Discard
              </button>
            )}
            {chosen !== null && draft?.type !== "default" ? (
              <button
                type="button"
                className={LINK}
                disabled={disabled}
                onClick={() => {
                  onDraft({ type: "default" });
                }}
              >
                Use the default
              </button>
            ) : null}
            {chosen === null && draft === undefined && usable && plainText(field.default) !== "" ? (
              <button
                type="button"
                className={LINK}
                disabled={disabled}
                onClick={() => {
                  onDraft({ type: "text", text: plainText(field.default) });
                }}
              >
                Start from the default
              </button>
            ) : null}
          </div>
          {chosen !== null && !chosen.fits ? (
            <p role="note" className="mt-1 mb-0 text-warn">
              The chosen value no longer fits the agent’s setup schema, so the default is used.
            </p>
          ) : null}
          {chosen !== null && draft === undefined && (chosen.json === null || hasMarks(field.value)) ? (
            <p role="note" className="selectable mt-1 mb-0 text-text-2">
              {chosen.json === null ? "Hidden, it can be replaced: " : "It holds characters that cannot be seen: "}
              <ShownText text={field.value} />
            </p>
          ) : null}
        </div>
        <BindingLine field={field} agent={agent} disabled={disabled} onBinding={onBinding} />
      </div>
    </div>
  );
};
