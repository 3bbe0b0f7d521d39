import { ShownText } from "../../components/ShownText";
import { useVirtualRows } from "../../components/virtualRows";
import { Moment } from "../../components/Moment";
import type { RejectedRow } from "../../ipc/generated";

const ROW_PX = 60;

interface RejectedListProps {
  readonly rows: readonly RejectedRow[];
  readonly chosen: string | null;
  readonly onChoose: (key: string) => void;
  /** The last rows are on screen. */
  readonly onEnd: () => void;
}

export const RejectedList = ({ rows, chosen, onChoose, onEnd }: RejectedListProps) => {
  const { scroller, height, rows: drawn } = useVirtualRows({ keys: rows.map((row) => row.key), rowPx: ROW_PX, overscan: 8, cursor: chosen, onEnd: rows.length > 0 ? onEnd : undefined });
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-auto outline-offset-[-2px]" role="listbox" tabIndex={0} aria-label="Rejected messages">
      <div className="relative" role="presentation" style={{ height }}>
        {drawn.map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          const selected = row.key === chosen;
          return (
            // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the list has the keys
            <div
              key={row.key} role="option" aria-selected={selected} aria-posinset={index + 1} aria-setsize={rows.length}
              data-testid="rejected-row" data-code={row.code}
              className={`row-line absolute top-0 left-0 grid h-[60px] w-full grid-cols-[minmax(0,1fr)_auto] content-center gap-x-2 border-l-[3px] pr-3.5 pl-[11px] ${selected ? "border-l-accent bg-raised" : "border-l-transparent hover:bg-panel"}`}
              style={{ transform: `translateY(${start}px)` }}
              onClick={() => { onChoose(row.key); }}
            >
              <span className="truncate font-mono text-[12.5px] font-semibold">{row.code}</span>
              <span className="font-mono text-[11.5px] text-text-2"><Moment ms={row.atMs} /></span>
              <span className="col-span-2 truncate text-[11.5px] text-text-3">{row.subject === null ? row.key : <ShownText text={row.subject} />}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
};
