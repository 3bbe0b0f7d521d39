import type { RefObject } from "react";
import { plainText } from "../../../components/shown";
import type { Card, TypedTarget } from "../../../ipc/generated";
import { stepsOf, type Progress, type StepId } from "../steps";
import { stops } from "../mayDo";
import { useCard } from "../openCard";

/** What is asked for, and the name of its field. */
const asked = (target: TypedTarget): string =>
  target.pointer === null ? "Type the tool’s name" : `Type the value of ${plainText(target.pointer)}`;

const untypable = (target: TypedTarget): string =>
  target.pointer === null
    ? "Its name cannot be typed: deny it"
    : `The value of ${plainText(target.pointer)} cannot be typed: edit or deny it`;

const LABEL: Record<StepId, (target: TypedTarget) => string> = {
  name: () => "Read the tool’s name to its end",
  read: () => "Read the arguments to their end",
  evidence: () => "Open the earlier messages",
  reveal: () => "Reveal what is hidden (V)",
  type: (target) => (target.text === null ? untypable(target) : asked(target)),
};

/** Where what is typed first differs from what is asked for, counted from 1; null while it does not. */
const differsAt = (typed: string, target: string): number | null => {
  const [have, want] = [[...typed], [...target]];
  const place = have.findIndex((character, index) => character !== want[index]);
  return place < 0 ? null : place + 1;
};

interface WayProps {
  readonly card: Card;
  readonly target: TypedTarget;
  readonly progress: Progress;
  readonly onType: (text: string) => void;
  readonly field?: RefObject<HTMLInputElement | null>;
}

/** The steps of a card and what is typed. */
export const Way = ({ card, target, progress, onType, field }: WayProps) => {
  const steps = stepsOf({ ...card, target }, progress);
  if (steps.length === 0) return null;
  const strict = card.path === "critical";
  const differs = target.text === null ? null : differsAt(progress.typed, target.text);
  const title = (
    <b className={`font-semibold short:sr-only ${strict ? "text-crit" : "text-text-2"}`}>
      {strict
        ? `${card.risk === "critical" ? "Critical" : "Irreversible"}: complete every step to approve`
        : stops(card)
          ? "A finding stops this call. Before you approve"
          : "Before you approve"}
    </b>
  );
  return (
    <div
      className={`flex flex-wrap items-center gap-x-5 gap-y-1.5 border-t bg-panel px-7 py-2 short:gap-y-1 short:px-4
        short:py-1 ${strict ? "border-crit-line" : "border-line"}`}
      data-testid="way"
    >
      {strict ? (
        <div className="flex w-full items-center justify-between gap-5 short:order-last short:w-auto">
          {title}
          {target.text === null ? null : (
            <input
              ref={field}
              className={`w-60 min-w-0 short:w-44 slim:w-32 rounded-md border border-line bg-bg px-2 py-1 font-mono text-[12.5px]
                text-text`}
              aria-label={asked(target)}
              placeholder={target.pointer === null ? "the tool’s name" : `value of ${plainText(target.pointer)}`}
              autoComplete="off"
              spellCheck={false}
              value={progress.typed}
              onChange={(event) => {
                onType(event.target.value);
              }}
              onPaste={(event) => {
                event.preventDefault();
              }}
              onDrop={(event) => {
                event.preventDefault();
              }}
            />
          )}
        </div>
      ) : (
        title
      )}
      <span
        role="status"
        className={differs === null ? "sr-only" : "w-full text-right text-xs text-warn"}
        data-testid="differs"
      >
        {differs === null ? "" : `Character ${differs} does not match.`}
      </span>
      <ol className="m-0 flex min-w-0 flex-1 list-none flex-wrap gap-x-4 gap-y-1 p-0">
        {steps.map((step) => (
          <li
            key={step.id}
            className={`whitespace-nowrap max-lg:whitespace-normal tiny:data-[done=true]:sr-only ${step.done ? "text-text" : "text-text-2"}`}
            data-step={step.id}
            data-done={step.done}
          >
            <span
              aria-hidden="true"
              className={`mr-1.5 inline-block size-2 rounded-full border-[1.5px]
                ${step.done ? "border-ok bg-ok" : "border-text-3"}`}
            />
            {LABEL[step.id](target)}
            <span className="sr-only">{step.done ? " (done)" : " (missing)"}</span>
          </li>
        ))}
      </ol>
    </div>
  );
};

/** The steps before a high or critical call can be approved. */
export const WayPanel = () => {
  const { card, acts, field } = useCard();
  return <Way card={card} target={acts.target} progress={acts.progress} onType={acts.type} field={field} />;
};
