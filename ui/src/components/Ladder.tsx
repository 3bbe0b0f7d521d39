import type { Card, Rung, RungName } from "../ipc/generated";
import { Section } from "./Section";
import { ShownText } from "./ShownText";
import { Moment } from "./Moment";

const RUNG: Record<RungName, string> = {
  stored: "Stored",
  decided: "Decided",
  on_bus: "On the bus",
  received: "Received",
  executed: "Executed",
};

const rungLabel = (rung: Rung, card: Pick<Card, "agent" | "votes">): string => {
  const { agent, votes } = card;
  if (rung.rung === "received" && rung.state === "bad") return `Refused by ${agent}`;
  if (rung.rung === "on_bus" && rung.state === "bad") return "Another decision is on the bus";
  if (rung.rung === "executed" && rung.state === "bad") return "Failed";
  if (rung.state === "never") return "Does not run";
  if (rung.state === "stalled") return `${RUNG[rung.rung]}: overdue`;
  if (rung.rung === "decided" && rung.state === "open" && votes !== null) {
    return `${RUNG.decided} (${votes.count.given} of ${votes.count.required} approvals)`;
  }
  return rung.rung === "received" ? `Received by ${agent}` : RUNG[rung.rung];
};

const DOT: Record<Rung["state"], string> = {
  open: "border-text-3",
  done: "border-ok bg-ok",
  bad: "border-bad bg-bad",
  stalled: "border-bad",
  forbidden: "border-bad bg-bad",
  never: "border-transparent",
};
const STATE: Record<Rung["state"], string> = {
  open: "not yet",
  done: "done",
  bad: "went wrong",
  stalled: "overdue",
  forbidden: "not allowed",
  never: "as decided",
};

const TONE: Partial<Record<Rung["state"], string>> = {
  open: "text-text-3",
  never: "text-text-3",
  forbidden: "text-bad",
};

/** How far the request and its answer have come. */
export const Ladder = ({ card }: { readonly card: Pick<Card, "agent" | "votes" | "ladder"> }) => (
  <Section title="Delivery">
    <ol className="m-0 list-none p-0" data-testid="ladder">
      {card.ladder.map((rung) => (
        <li
          key={rung.rung}
          className={`flex gap-2 py-0.5 ${TONE[rung.state] ?? ""}`}
          data-rung={rung.rung}
          data-state={rung.state}
        >
          <span
            aria-hidden="true"
            className={`mt-[5px] size-2 shrink-0 rounded-full border-[1.5px] ${DOT[rung.state]}`}
          />
          <span>
            {rungLabel(rung, card)}
            {rung.atMs === null ? null : (
              <>
                , <Moment ms={rung.atMs} exact />
              </>
            )}
            {rung.detail === null ? null : (
              <span className="text-text-3">
                {" "}
                <ShownText text={rung.detail} />
              </span>
            )}
            <span className="sr-only"> ({STATE[rung.state]})</span>
          </span>
        </li>
      ))}
    </ol>
  </Section>
);
