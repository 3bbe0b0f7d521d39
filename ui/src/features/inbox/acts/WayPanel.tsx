import type { RefObject } from "react";
import type { Card } from "../../../ipc/generated";
import { stepsOf, type StepId } from "../steps";
import type { CardActs } from "../useCardActs";

const LABEL: Record<StepId, (card: Card) => string> = {
  name: () => "Read the tool’s name to its end",
  read: () => "Read the arguments to their end",
  evidence: () => "Open what led here",
  reveal: () => "Reveal what is hidden (V)",
  type: (card) => (card.target === null ? "Its name cannot be typed: deny it" : "Type the tool’s name"),
};

interface WayPanelProps {
  readonly card: Card;
  readonly acts: CardActs;
  readonly field: RefObject<HTMLInputElement | null>;
}

/** The steps before a high or critical call can be approved. */
export const WayPanel = ({ card, acts, field }: WayPanelProps) => {
  const steps = stepsOf(card, acts.progress);
  if (steps.length === 0) return null;
  const strict = card.path === "critical";
  const title = <b className={`font-semibold ${strict ? "text-crit" : "text-text-2"}`}>{strict ? "Critical: all of these first" : "Before you approve"}</b>;
  return (
    <div className={`flex flex-wrap items-center gap-x-5 gap-y-1.5 border-t bg-panel px-7 py-2 ${strict ? "border-crit-line" : "border-line"}`} data-testid="way">
      {strict ? (
        <div className="flex w-full items-center justify-between gap-5">
          {title}
          {card.target === null ? null : (
            <input
              ref={field} className="w-60 min-w-0 rounded-md border border-line bg-bg px-2 py-1 font-mono text-[12.5px] text-text"
              aria-label="Type the tool’s name" placeholder={card.target} autoComplete="off" spellCheck={false}
              value={acts.progress.typed} onChange={(event) => { acts.type(event.target.value); }}
              onPaste={(event) => { event.preventDefault(); }} onDrop={(event) => { event.preventDefault(); }}
            />
          )}
        </div>
      ) : title}
      <ol className="m-0 flex min-w-0 flex-1 list-none flex-wrap gap-x-4 gap-y-1 p-0">
        {steps.map((step) => (
          <li key={step.id} className={`whitespace-nowrap ${step.done ? "text-text" : "text-text-2"}`} data-step={step.id} data-done={step.done}>
            <span aria-hidden="true" className={`mr-1.5 inline-block size-2 rounded-full border-[1.5px] ${step.done ? "border-ok bg-ok" : "border-text-3"}`} />
            {LABEL[step.id](card)}<span className="sr-only">{step.done ? " (done)" : " (missing)"}</span>
          </li>
        ))}
      </ol>
    </div>
  );
};
