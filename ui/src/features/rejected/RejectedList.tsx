import { ShownText } from "../../components/ShownText";
import { VirtualList } from "../../components/VirtualList";
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

const nameOf = (row: RejectedRow): string => row.key;
const marks = (row: RejectedRow) => ({ "data-testid": "rejected-row", "data-code": row.code });
const draw = (row: RejectedRow) => (
  <>
    <span className="truncate font-mono text-[12.5px] font-semibold">{row.code}</span>
    <span className="font-mono text-[11.5px] text-text-2">
      <Moment ms={row.atMs} />
    </span>
    <span className="col-span-2 truncate text-[11.5px] text-text-3">
      {row.subject === null ? row.key : <ShownText text={row.subject} />}
    </span>
  </>
);

export const RejectedList = ({ rows, chosen, onChoose, onEnd }: RejectedListProps) => (
  <VirtualList
    label="Rejected messages"
    rows={rows}
    nameOf={nameOf}
    rowPx={ROW_PX}
    look="grid grid-cols-[minmax(0,1fr)_auto] content-center gap-x-2 pr-3.5 pl-[11px]"
    marks={marks}
    renderRow={draw}
    chosen={chosen}
    onChoose={onChoose}
    onEnd={rows.length > 0 ? onEnd : undefined}
  />
);
