import { useCallback } from "react";
import { ShownText } from "../../components/ShownText";
import { formatDuration } from "../../components/timeline/scale";
import { VirtualList } from "../../components/VirtualList";
import { Moment } from "../../components/Moment";
import type { TraceRow } from "../../ipc/generated";

const ROW_PX = 44;
const COLUMNS =
  "grid grid-cols-[minmax(0,2fr)_minmax(0,1.4fr)_142px_90px_110px_minmax(150px,1fr)] items-center gap-x-4 pr-5 " +
  "pl-[17px] max-[900px]:grid-cols-[minmax(0,1fr)_142px_minmax(90px,auto)]";
const WIDE = "max-[900px]:hidden";
const NAMED = 2;

/** What a person should know before opening it; of a long trace the first spans are looked at. */
const State = ({ row }: { readonly row: TraceRow }) => {
  const more = row.longer ? "+" : "";
  return (
    <span className="flex flex-wrap gap-x-3 text-xs/[1.3]">
      {row.waiting > 0 ? (
        <b className="font-semibold text-warn">
          {row.waiting}
          {more} waiting
        </b>
      ) : null}
      {row.failed > 0 ? (
        <span className="text-bad">
          {row.failed}
          {more} failed
        </span>
      ) : null}
      {row.open > 0 ? (
        <span className="text-text-2">
          {row.open}
          {more} not ended
        </span>
      ) : null}
      {row.waiting + row.failed + row.open === 0 ? (
        <span className="text-text-3">{row.longer ? `first ${row.spans.toLocaleString("en")} ended` : "ended"}</span>
      ) : null}
    </span>
  );
};

const nameOf = (row: TraceRow): string => row.key;
const marks = (row: TraceRow) => ({ "data-testid": "trace-row", "data-key": row.key });
const draw = (row: TraceRow) => (
  <>
    <span className="truncate font-mono text-[12.5px] font-semibold">
      <ShownText text={row.name} />
    </span>
    <span className={`truncate text-text-2 ${WIDE}`} title={row.agents.join(", ")}>
      {row.agents.slice(0, NAMED).join(", ")}
      {row.agents.length > NAMED ? ` and ${row.agents.length - NAMED} more` : ""}
    </span>
    <span className="whitespace-nowrap text-text-3">
      <Moment ms={row.startedMs} />
    </span>
    <span className={`text-right font-mono text-xs text-text-2 ${WIDE}`}>
      {formatDuration(row.lastMs - row.startedMs)}
      {row.longer ? "+" : ""}
    </span>
    <span className={`text-right whitespace-nowrap text-text-3 ${WIDE}`}>
      {row.spans.toLocaleString("en")}
      {row.longer ? "+" : ""}
      <span className="sr-only"> {row.spans === 1 ? "span" : "spans"}</span>
    </span>
    <State row={row} />
  </>
);

interface TraceListProps {
  readonly rows: readonly TraceRow[];
  readonly chosen: string | null;
  readonly onChoose: (key: string) => void;
  readonly onOpen: (key: string) => void;
  /** The last rows are on screen. */
  readonly onEnd: () => void;
}

/** Enter is the list's own key, alive only while the list has the focus: elsewhere it presses what has it. */
export const TraceList = ({ rows, chosen, onChoose, onOpen, onEnd }: TraceListProps) => {
  const choose = useCallback(
    (key: string) => {
      onChoose(key);
      onOpen(key);
    },
    [onChoose, onOpen],
  );
  return (
    <>
      <div
        className={`${COLUMNS} row-line h-8 shrink-0 border-l-[3px] border-l-transparent text-[11px] text-text-3`}
        aria-hidden="true"
      >
        <span>What</span>
        <span className={WIDE}>Agents</span>
        <span>Started</span>
        <span className={`text-right ${WIDE}`}>Took</span>
        <span className={`text-right ${WIDE}`}>Spans</span>
        <span>State</span>
      </div>
      <VirtualList
        label="Recent traces"
        rows={rows}
        nameOf={nameOf}
        rowPx={ROW_PX}
        look={COLUMNS}
        marks={marks}
        renderRow={draw}
        chosen={chosen}
        onChoose={choose}
        onOpen={onOpen}
        onEnd={onEnd}
        takesFocus
      />
    </>
  );
};
