import { useState } from "react";
import { optionOf } from "../../../hotkeys";
import { takesText } from "../../../commands/text";
import { Button } from "../../../components/Button";
import { ShownText } from "../../../components/ShownText";
import type { Answer } from "../../../ipc/generated";
import { useCard } from "../openCard";
import { FormAnswer } from "../form/FormAnswer";

/** Answers a question by an option, by words, or both. Digits choose an option and send nothing. */
export const AnswerPanel = () => {
  const { card, acts, option, close } = useCard();
  const { busy, write } = acts;
  const { answer: text, form: kept } = acts.unsent;
  const give = (answer: Answer): void => void acts.answer(answer);
  const [chosen, setChosen] = useState(option);
  if (card.form !== null)
    return (
      <FormAnswer
        requestKey={card.key}
        form={card.form}
        busy={busy}
        kept={kept}
        onKeep={(form) => {
          write({ form });
        }}
        onAnswer={(json) => {
          give({ type: "form", json });
        }}
        onClose={close}
      />
    );
  const options = card.question?.options ?? [];
  const words = card.question === null || card.question.allowFreeform || options.length === 0;
  const written = text.trim();
  const ready = chosen !== null || written !== "";
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- digits choose from every option
    <form
      className="border-t border-line bg-panel px-7 py-[13px]"
      aria-label="Answer"
      onKeyDown={(event) => {
        const index = optionOf(event.nativeEvent);
        if (index === null || index >= options.length || takesText(event.target)) return;
        event.preventDefault();
        setChosen(index);
        event.currentTarget.querySelectorAll<HTMLElement>("input[type=radio]")[index]?.focus();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        if (chosen !== null) give({ type: "option", index: chosen, text: written === "" ? null : written });
        else if (written !== "") give({ type: "text", text: written });
      }}
    >
      <div role="radiogroup" aria-label="Options" className="mb-2 flex max-h-[30vh] flex-wrap gap-1.5 overflow-auto">
        {options.map(({ label }, index) => (
          // Options keep their order; their place is what is sent.
          <label
            // oxlint-disable-next-line react/no-array-index-key
            key={index}
            className={`flex items-center gap-2 rounded-md border px-2.5 py-1.5
              ${chosen === index ? "border-accent bg-raised" : "border-line"}`}
          >
            <input
              type="radio"
              name="option"
              checked={chosen === index}
              onChange={() => {
                setChosen(index);
              }}
              // oxlint-disable-next-line jsx-a11y/no-autofocus -- the key R asks for exactly this
              autoFocus={index === (chosen ?? 0)}
            />
            <ShownText text={label} />
            {index < 9 ? <kbd className="kbd">{index + 1}</kbd> : null}
          </label>
        ))}
      </div>
      <div className="flex items-center gap-2.5">
        {words ? (
          <input
            className="min-w-0 flex-1 rounded-md border border-line bg-bg px-2.5 py-2 text-text"
            aria-label="Answer in your own words"
            // oxlint-disable-next-line jsx-a11y/no-autofocus -- the key R asks for exactly this
            autoFocus={options.length === 0}
            placeholder="In your own words"
            value={text}
            onChange={(event) => {
              write({ answer: event.target.value });
            }}
          />
        ) : (
          <span className="flex-1" />
        )}
        <Button type="submit" disabled={busy || !ready}>
          Answer <kbd className="kbd">Enter</kbd>
        </Button>
        <Button tone="quiet" onClick={close}>
          Back <kbd className="kbd">Esc</kbd>
        </Button>
      </div>
    </form>
  );
};
