import { Bot, Check } from "lucide-react";
import { memo } from "react";
import { Countdown } from "../../../components/Countdown";
import { RiskBadge } from "../../../components/RiskBadge";
import { localized } from "../../../components/amounts";
import { RowMark } from "../../../components/RowMark";
import { ShownText } from "../../../components/ShownText";
import type { InboxRow } from "../../../ipc/generated";

interface InboxItemProps {
  readonly row: InboxRow;
  readonly selected: boolean;
  /** It is answered together with others. */
  readonly picked: boolean;
  readonly place: number;
  readonly count: number;
  readonly onSelect: (key: string) => void;
}

export const optionId = (key: string): string => `request-${key}`;

const BY_READER = "Marked by the reader, a machine";
const STATE: Partial<Record<InboxRow["state"], string>> = { holding: "held, not sent", queued: "being sent" };

const Origin = ({ row }: { readonly row: InboxRow }) => (
  <>
    {row.agent}
    {row.thread === null ? null : (
      <>
        {" "}
        · thread <ShownText text={row.thread} />
      </>
    )}
    {row.thread !== null || row.run === null ? null : (
      <>
        {" "}
        · run <ShownText text={row.run} />
      </>
    )}
  </>
);

/** Apart from the console's own marks: a machine's. */
const ReaderSign = () => (
  <span className="mr-1.5 inline-block align-[-2px] text-text-3" title={BY_READER} data-testid="by-reader">
    <Bot size={13} aria-hidden="true" />
    <span className="sr-only">{BY_READER}</span>
  </span>
);

/** One row of the list: what will happen or key arguments first, the agent's words second and marked as such. */
export const InboxItem = memo(function InboxItem({ row, selected, picked, place, count, onSelect }: InboxItemProps) {
  const state = STATE[row.state];
  const line = row.effect === null ? row.summary : localized(row.effect);
  return (
    // The list itself has the focus and the keys; the pointer may choose an option.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
    <div
      id={optionId(row.key)}
      role="option"
      aria-selected={selected || picked}
      aria-posinset={place + 1}
      aria-setsize={count}
      data-testid="row"
      data-key={row.key}
      data-picked={picked}
      className={`row-line grid h-[36px] grid-cols-[minmax(0,1fr)_auto] content-center gap-x-2 border-l-[3px] pr-3.5
        pl-[11px] ${selected ? "border-l-accent bg-raised" : "border-l-transparent hover:bg-panel"}`}
      onClick={() => {
        onSelect(row.key);
      }}
    >
      <span className="flex min-w-0 items-baseline gap-2 leading-[17px]">
        <span className="max-w-[75%] shrink-0 truncate font-mono max-[800px]:max-w-full text-[12.5px] font-semibold">
          {picked ? (
            <Check size={13} strokeWidth={3} className="mr-1.5 inline text-accent" aria-label="selected" />
          ) : null}
          {row.kind === "tool_call" ? (
            <ShownText text={row.tool} />
          ) : (
            <span className="font-sans">
              <ShownText text={row.tool} />
            </span>
          )}
        </span>
        <span className="min-w-0 truncate text-[11.5px] text-text-3 max-[800px]:hidden">
          <Origin row={row} />
        </span>
      </span>
      <RiskBadge risk={row.risk} small />
      <span className="min-w-0 truncate text-[12px]/[16px] text-text-2">
        {state === undefined ? null : <b className="mr-1.5 font-semibold text-warn">{state}</b>}
        {row.finding === null ? null : <RowMark finding={row.finding} />}
        {row.byReader ? <ReaderSign /> : null}
        {line.length > 0 ? <ShownText text={line} /> : null}
        {row.says === null ? null : (
          <span className={line.length > 0 ? "text-text-3" : ""}>
            {line.length > 0 ? " · " : ""}
            {/* Whole or not at all: where it has no room, its frame must not stay. */}
            <span className="mr-1 inline-block rounded border border-line px-1 text-[10.5px]/[13px] text-text-3">
              says
            </span>
            <ShownText text={row.says} />
          </span>
        )}
      </span>
      <span className="flex items-baseline gap-2 justify-self-end text-[11px]/[16px]">
        {row.votes === null ? null : (
          <span className="text-text-2" title={row.votes.mine ? "Your vote is given" : "Your vote is missing"}>
            {row.votes.given} of {row.votes.required}
            {row.votes.mine ? ", voted" : ""}
            {row.votes.apart > 0 ? `, ${row.votes.apart} for another answer` : ""}
          </span>
        )}
        {row.finding !== null ? null : row.deniedBefore ? (
          <span className="font-semibold text-bad" title="A person denied this exact call before">
            denied before
          </span>
        ) : row.warned ? (
          <span className="font-semibold text-warn" title="Look at its warnings">
            look twice
          </span>
        ) : null}
        <Countdown deadlineMs={row.deadlineMs} hasDeadline={row.hasDeadline} />
      </span>
    </div>
  );
});
