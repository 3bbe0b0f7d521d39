import { memo, useEffect } from "react";
import { ShownText } from "../../components/ShownText";
import { formatDuration } from "../../components/timeline/scale";
import { useVirtualRows } from "../../components/virtualRows";
import { Moment } from "../../components/Moment";
import type { TraceRow } from "../../ipc/generated";

const ROW_PX = 44;
const COLUMNS = "grid grid-cols-[minmax(0,2fr)_minmax(0,1.4fr)_142px_90px_110px_minmax(150px,1fr)] items-center gap-x-4 pr-5 pl-[17px]";
const NAMED = 2;

const optionId = (key: string): string => `trace-${key.replaceAll(":", "-")}`;

/** What a person should know before opening it. */
const State = ({ row }: { readonly row: TraceRow }) => (
  <span className="flex flex-wrap gap-x-3 text-xs/[1.3]">
    {row.waiting > 0 ? <b className="font-semibold text-warn">{row.waiting} waiting</b> : null}
    {row.failed > 0 ? <span className="text-bad">{row.failed} failed</span> : null}
    {row.open > 0 ? <span className="text-text-2">{row.open} not ended</span> : null}
    {row.waiting + row.failed + row.open === 0 ? <span className="text-text-3">ended</span> : null}
  </span>
);

interface RowProps {
  readonly row: TraceRow;
  readonly place: number;
  readonly top: number;
  readonly count: number;
  readonly selected: boolean;
  readonly onChoose: (key: string) => void;
  readonly onOpen: (key: string) => void;
}

const Row = memo(function Row({ row, place, top, count, selected, onChoose, onOpen }: RowProps) {
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the list has the keys
    <div
      id={optionId(row.key)} role="option" aria-selected={selected} aria-posinset={place + 1} aria-setsize={count} data-testid="trace-row" data-key={row.key}
      style={{ transform: `translateY(${top}px)` }}
      className={`${COLUMNS} row-line absolute top-0 left-0 h-11 w-full border-l-[3px] contain-strict ${selected ? "border-l-accent bg-raised" : "border-l-transparent hover:bg-panel"}`}
      onClick={() => { onChoose(row.key); onOpen(row.key); }}
    >
      <span className="truncate font-mono text-[12.5px] font-semibold"><ShownText text={row.name} /></span>
      <span className="truncate text-text-2" title={row.agents.join(", ")}>{row.agents.slice(0, NAMED).join(", ")}{row.agents.length > NAMED ? ` and ${row.agents.length - NAMED} more` : ""}</span>
      <span className="whitespace-nowrap text-text-3"><Moment ms={row.startedMs} /></span>
      <span className="text-right font-mono text-xs text-text-2">{formatDuration(row.lastMs - row.startedMs)}{row.longer ? "+" : ""}</span>
      <span className="text-right whitespace-nowrap text-text-3">{row.spans.toLocaleString("en")}{row.longer ? "+" : ""} {row.spans === 1 ? "span" : "spans"}</span>
      <State row={row} />
    </div>
  );
});

interface TraceListProps {
  readonly rows: readonly TraceRow[];
  readonly chosen: string | null;
  readonly onChoose: (key: string) => void;
  readonly onOpen: (key: string) => void;
  /** The last rows are on screen. */
  readonly onEnd: () => void;
}

export const TraceList = ({ rows, chosen, onChoose, onOpen, onEnd }: TraceListProps) => {
  const { scroller, height, rows: drawn } = useVirtualRows({
    keys: rows.map((row) => row.key), rowPx: ROW_PX, overscan: 6, cursor: chosen, onEnd: rows.length > 0 ? onEnd : undefined,
  });
  // Enter is the list's own key, alive only while the list has the focus: elsewhere it presses what has it.
  useEffect(() => { scroller.current?.focus({ preventScroll: true }); }, [scroller]);
  return (
    <>
      <div className={`${COLUMNS} row-line h-8 shrink-0 border-l-[3px] border-l-transparent text-[11px] text-text-3`} aria-hidden="true">
        <span>What</span><span>Agents</span><span>Started</span><span className="text-right">Took</span><span className="text-right">Spans</span><span>State</span>
      </div>
      <div
        ref={scroller} className="min-h-0 flex-1 overflow-auto outline-offset-[-2px]" role="listbox" tabIndex={0} aria-label="Recent traces"
        {...(chosen === null ? {} : { "aria-activedescendant": optionId(chosen) })}
        onKeyDown={(event) => { if (event.key === "Enter" && chosen !== null) onOpen(chosen); }}
      >
        <div className="relative" role="presentation" style={{ height }}>
          {drawn.map(({ index, start, slot }) => {
            const row = rows[index];
            return row === undefined ? null : (
              <Row key={slot} row={row} place={index} top={start} count={rows.length} selected={row.key === chosen} onChoose={onChoose} onOpen={onOpen} />
            );
          })}
        </div>
      </div>
    </>
  );
};
