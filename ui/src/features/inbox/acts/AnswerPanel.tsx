import { useState } from "react";
import { Button } from "../../../components/Button";
import { ShownText } from "../../../components/ShownText";
import type { Answer, Card } from "../../../ipc/generated";
import type { Unsent } from "../unsaved";
import type { EditorProblem } from "../../../components/code/CodeField";
import { JsonEditor } from "../edit/JsonEditor";

interface AnswerPanelProps {
  readonly card: Card;
  readonly busy: boolean;
  readonly unsent: Unsent;
  readonly onWrite: (more: Partial<Unsent>) => void;
  readonly onAnswer: (answer: Answer) => void;
  readonly onClose: () => void;
}

const NONE: readonly EditorProblem[] = [];

const FormAnswer = ({ card, busy, unsent, onWrite, onAnswer, onClose }: AnswerPanelProps) => {
  const [initial] = useState(unsent.form ?? card.form?.skeleton ?? "{}");
  const json = unsent.form ?? initial;
  return (
    <div className="flex h-72 flex-col gap-2.5 border-t border-line bg-panel px-7 py-[13px]">
      <JsonEditor
        initial={initial}
        label="Answer as JSON"
        problems={NONE}
        onChange={(form) => {
          onWrite({ form });
        }}
        onSubmit={() => {
          onAnswer({ type: "form", json });
        }}
      />
      <div className="flex gap-2.5">
        <Button
          disabled={busy}
          onClick={() => {
            onAnswer({ type: "form", json });
          }}
        >
          Answer <kbd className="kbd">Ctrl Enter</kbd>
        </Button>
        <Button tone="quiet" onClick={onClose}>
          Back <kbd className="kbd">Esc</kbd>
        </Button>
      </div>
    </div>
  );
};

/** Answers a question by an option, by words, or both; a form as JSON. Checked again by the core. */
export const AnswerPanel = (props: AnswerPanelProps) => {
  const {
    card,
    busy,
    unsent: { answer: text },
    onWrite,
    onAnswer,
    onClose,
  } = props;
  const [chosen, setChosen] = useState<number | null>(null);
  if (card.form !== null) return <FormAnswer {...props} />;
  const options = card.question?.options ?? [];
  const words = card.question === null || card.question.allowFreeform || options.length === 0;
  const written = text.trim();
  const ready = chosen !== null || written !== "";
  return (
    <form
      className="border-t border-line bg-panel px-7 py-[13px]"
      aria-label="Answer"
      onSubmit={(event) => {
        event.preventDefault();
        if (chosen !== null) onAnswer({ type: "option", index: chosen, text: written === "" ? null : written });
        else if (written !== "") onAnswer({ type: "text", text: written });
      }}
    >
      <div role="radiogroup" aria-label="Options" className="mb-2 flex max-h-[30vh] flex-wrap gap-1.5 overflow-auto">
        {options.map((option, index) => (
          // Options keep their order; their place is what is sent.
          <label
            // oxlint-disable-next-line react/no-array-index-key
            key={index}
            className={`flex items-center gap-2 rounded-md border px-2.5 py-1.5 ${chosen === index ? "border-accent bg-raised" : "border-line"}`}
          >
            <input
              type="radio"
              name="option"
              checked={chosen === index}
              onChange={() => {
                setChosen(index);
              }}
              // oxlint-disable-next-line jsx-a11y/no-autofocus -- the key R asks for exactly this
              autoFocus={index === 0}
            />
            <ShownText text={option.label} />
          </label>
        ))}
      </div>
      <div className="flex items-center gap-2.5">
        {words ? (
          <input
            className="min-w-0 flex-1 rounded-md border border-line bg-bg px-2.5 py-2 text-text"
            aria-label="Answer in own words"
            // oxlint-disable-next-line jsx-a11y/no-autofocus -- the key R asks for exactly this
            autoFocus={options.length === 0}
            placeholder="In your own words"
            value={text}
            onChange={(event) => {
              onWrite({ answer: event.target.value });
            }}
          />
        ) : (
          <span className="flex-1" />
        )}
        <Button type="submit" disabled={busy || !ready}>
          Answer <kbd className="kbd">Enter</kbd>
        </Button>
        <Button tone="quiet" onClick={onClose}>
          Back <kbd className="kbd">Esc</kbd>
        </Button>
      </div>
    </form>
  );
};
