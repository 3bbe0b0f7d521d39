import { useState } from "react";
import { Button } from "../../components/Button";
import { Confirm } from "../../components/Confirm";
import { ShownText } from "../../components/ShownText";
import type { SetupEdit, SetupKeyView } from "../../ipc/generated";
import { jsonOf } from "./drafts";
import { SetAt } from "./SetAt";
import { ValueField } from "./ValueField";

interface BindingLineProps {
  readonly field: SetupKeyView;
  readonly agent: string;
  readonly disabled: boolean;
  readonly onBinding: (edit: SetupEdit) => Promise<void>;
}

interface BindFormProps extends BindingLineProps {
  readonly onClose: () => void;
}

/** The polarity is typed by a person: nothing is filled in. */
const BindForm = ({ field, agent, disabled, onBinding, onClose }: BindFormProps) => {
  const [text, setText] = useState<string | null>(null);
  const [critical, setCritical] = useState(false);
  const [asked, setAsked] = useState(false);
  const id = `bind-${field.key}`;
  const typed = text !== null && (text !== "" || field.kind.startsWith("string"));
  return (
    <div className="mt-2 rounded-lg border border-line bg-panel p-3" data-testid="bind-form">
      <label id={`${id}-name`} htmlFor={id} className="mb-1.5 block">
        Calls that name <code className="font-mono text-xs">{field.key}</code> do not ask when the value is
      </label>
      <ValueField field={field} id={id} text={text} wrong={false} labelledBy={`${id}-name`} onText={setText} />
      <label className="mt-2 flex items-center gap-2 text-text-2">
        <input
          type="checkbox"
          checked={critical}
          onChange={(event) => {
            setCritical(event.target.checked);
          }}
        />{" "}
        for critical calls too
      </label>
      <div className="mt-3 flex gap-2.5">
        <Button
          className="!px-3 !py-1.5 !text-xs"
          disabled={disabled || !typed}
          onClick={() => {
            setAsked(true);
          }}
        >
          Bind…
        </Button>
        <Button tone="quiet" className="!px-3 !py-1.5 !text-xs" onClick={onClose}>
          Cancel
        </Button>
      </div>
      {asked && text !== null ? (
        <Confirm
          title={`Let calls of ${agent} pass without asking?`}
          verb="Bind"
          dangerous
          onClose={() => {
            setAsked(false);
          }}
          onConfirm={async () => {
            await onBinding({ type: "bind", key: field.key, json: jsonOf(field.kind, text), critical });
            onClose();
          }}
        >
          <p className="mt-0">
            Calls that name <code className="font-mono text-xs text-text">{field.key}</code> run without a person while
            its value is{" "}
            {field.secret ? (
              "what you typed"
            ) : (
              <code className="font-mono text-xs text-text">{text === "" ? "empty" : text}</code>
            )}
            , {critical ? "critical ones too" : "but for critical ones"}.
          </p>
          <p className="mb-0">
            Its value now is{" "}
            <code className="font-mono text-xs text-text">
              <ShownText text={field.value} />
            </code>
            . Rules that ask or deny still win. Waiting calls are checked again at once.
          </p>
        </Confirm>
      ) : null}
    </div>
  );
};

/** When a key spares a question, by whom that was chosen, and how to change it. */
export const BindingLine = ({ field, agent, disabled, onBinding }: BindingLineProps) => {
  const [open, setOpen] = useState(false);
  const [asked, setAsked] = useState(false);
  const { bound } = field;
  return (
    <div className="mt-2.5 text-[12.5px]" data-testid="setup-binding" data-bound={bound !== null}>
      {bound === null ? (
        <span className="text-text-3">
          Always asks a person.
          {open ? null : (
            <button
              type="button"
              className="ml-3 rounded text-accent hover:underline disabled:opacity-45"
              disabled={disabled}
              onClick={() => {
                setOpen(true);
              }}
            >
              Skip asking when…
            </button>
          )}
        </span>
      ) : (
        <div className={`border-l-2 pl-3 ${bound.spares ? "border-l-warn" : "border-l-line"}`}>
          <div>
            Does not ask when the value is{" "}
            <code className="font-mono text-xs font-semibold">
              <ShownText text={bound.skipsWhen} />
            </code>
            {bound.critical ? ", critical calls too" : ""}.{" "}
            <b className={`font-semibold ${bound.spares ? "text-warn" : "text-text-2"}`}>
              {bound.spares
                ? "It has this value: calls pass."
                : bound.redeclared
                  ? "Its agent changed it since: calls ask until you bind or set it again."
                  : "It has another value: calls ask."}
            </b>
          </div>
          <div className="text-[11.5px] text-text-3">
            Bound by <ShownText text={bound.by} />, <SetAt ms={bound.atMs} />
            <button
              type="button"
              className="ml-3 rounded text-accent hover:underline disabled:opacity-45"
              disabled={disabled}
              onClick={() => {
                setAsked(true);
              }}
            >
              Ask again…
            </button>
          </div>
        </div>
      )}
      {open && bound === null ? (
        <BindForm
          field={field}
          agent={agent}
          disabled={disabled}
          onBinding={onBinding}
          onClose={() => {
            setOpen(false);
          }}
        />
      ) : null}
      {asked ? (
        <Confirm
          title={`Let ${field.key} ask again?`}
          verb="Unbind"
          onClose={() => {
            setAsked(false);
          }}
          onConfirm={() => onBinding({ type: "unbind", key: field.key })}
        >
          Calls of {agent} that name {field.key} wait for a person or a rule again, whatever its value is.
        </Confirm>
      ) : null}
    </div>
  );
};
