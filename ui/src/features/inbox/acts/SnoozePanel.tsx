import { useState } from "react";
import { Button } from "../../../components/Button";
import { formatMoment } from "../../../desk/clock";
import { useDesk } from "../../../desk/DeskContext";
import { useCard } from "../openCard";
import { choicesOf } from "../snooze";

/** For how long a card is put off. It decides nothing: the agent goes on waiting. */
export const SnoozePanel = () => {
  const { card, snooze, close } = useCard();
  const desk = useDesk();
  const [choices] = useState(() => choicesOf(card, desk.now()));
  return (
    <div
      className="flex flex-wrap items-center gap-2.5 border-t border-line bg-panel px-7 py-[13px]"
      role="toolbar"
      aria-label="Snooze"
      data-testid="snooze-panel"
    >
      <span className="text-text-2">{choices.length === 0 ? "It is due too soon to snooze." : "Hide it here:"}</span>
      {choices.map((choice, place) => (
        <Button
          key={choice.label}
          // oxlint-disable-next-line jsx-a11y/no-autofocus -- the key S asks for exactly this, and nothing here decides
          autoFocus={place === 0}
          title={`back at ${formatMoment(choice.untilMs, desk.now())}`}
          onClick={() => {
            snooze(choice.untilMs);
          }}
        >
          {choice.label}
        </Button>
      ))}
      <Button tone="quiet" onClick={close}>
        Back <kbd className="kbd">Esc</kbd>
      </Button>
      <span className="ml-auto text-[11.5px] text-text-3">Only hidden here; others can still decide.</span>
    </div>
  );
};
