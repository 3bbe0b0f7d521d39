import { AgentKey } from "../../components/AgentKey";
import { RiskBadge } from "../../components/RiskBadge";
import { plainText } from "../../components/shown";
import { RowMark } from "../../components/RowMark";
import { ShownText } from "../../components/ShownText";
import { formatDuration } from "../../components/timeline/scale";
import { pastOf } from "../../components/verdict";
import { VirtualList } from "../../components/VirtualList";
import { Moment } from "../../components/Moment";
import type { HistoryRow, HistorySort, HistorySortBy } from "../../ipc/generated";

const ROW_PX = 40;
/** Where room is short, who decided and how long it took go first: the story has both. */
const COLUMNS =
  "grid " +
  "grid-cols-[130px_minmax(0,1fr)_minmax(0,2fr)_minmax(0,1fr)_74px_minmax(0,1.2fr)_minmax(0,0.8fr)_130px_64px] " +
  "max-[1200px]:grid-cols-[130px_minmax(0,1fr)_minmax(0,1.6fr)_minmax(0,0.9fr)_74px_minmax(0,1.1fr)_130px] " +
  "max-[900px]:grid-cols-[minmax(0,1fr)_auto] max-[900px]:content-center " +
  "items-center gap-x-4 pr-5 pl-[17px]";
const WIDE = "max-[1200px]:hidden";
/** In a narrow window a line has two rows: tool and outcome, what it does and when. */
const MIDDLE = "max-[900px]:hidden";

/** What became of it, in a person's words. */
export const outcomeOf = (row: Pick<HistoryRow, "state" | "verdict" | "errorCode">): string => {
  if (row.state === "decided") return row.verdict === null ? "decided" : pastOf(plainText(row.verdict));
  if (row.state === "rejected") return `rejected: ${row.errorCode ?? "not a request"}`;
  return {
    pending: "waiting",
    holding: "held, not sent",
    queued: "being sent",
    expired: "expired",
    withdrawn: "withdrawn",
    void: "void",
  }[row.state];
};

const tone = (row: HistoryRow): string =>
  row.state === "void" || row.state === "rejected"
    ? "text-bad"
    : row.state === "pending" || row.state === "holding" || row.state === "queued"
      ? "text-warn"
      : "text-text";

const nameOf = (row: HistoryRow): string => row.key;
const marks = (row: HistoryRow) => ({ "data-testid": "history-row", "data-key": row.key, "data-state": row.state });
const draw = (row: HistoryRow) => (
  <>
    <span className="whitespace-nowrap text-text-3 max-[900px]:col-start-2 max-[900px]:row-start-2">
      <Moment ms={row.storedMs} />
    </span>
    <span className="truncate font-mono text-[12.5px] font-semibold">
      {row.tool === null ? (
        <span className="font-sans font-normal text-text-2">{row.kind ?? "no request"}</span>
      ) : (
        <ShownText text={row.tool} />
      )}
    </span>
    <span className="truncate text-text-2 max-[900px]:row-start-2">
      {row.finding === null ? null : <RowMark finding={row.finding} />}
      {row.summary === null ? null : <ShownText text={row.summary} />}
    </span>
    <span className={`min-w-0 text-text-2 ${MIDDLE}`}>
      {row.workspace === "" ? "no valid subject" : <AgentKey of={`${row.workspace}/${row.agent}`} />}
    </span>
    <span className={MIDDLE}>{row.state === "rejected" ? null : <RiskBadge risk={row.risk} />}</span>
    <span className="truncate max-[900px]:col-start-2 max-[900px]:row-start-1 max-[900px]:max-w-[45vw] max-[900px]:text-right">
      <span className={tone(row)}>{outcomeOf(row)}</span>
      {row.message === null ? null : (
        <span className="text-text-3">
          {" "}
          “<ShownText text={row.message} />”
        </span>
      )}
    </span>
    <span className={`truncate text-text-2 ${WIDE}`}>
      {row.mine ? "you" : row.by === null ? "" : <ShownText text={row.by} />}
      {row.origin === null || plainText(row.origin) === "operator" ? null : (
        <span className="text-text-3"> ({plainText(row.origin).replace("_", " ")})</span>
      )}
    </span>
    <span className={`whitespace-nowrap text-text-3 ${MIDDLE}`}>
      {row.decidedMs === null ? null : <Moment ms={row.decidedMs} />}
    </span>
    <span className={`text-right font-mono text-xs text-text-3 ${WIDE}`}>
      {row.decidedMs === null ? "" : formatDuration(row.decidedMs - row.storedMs)}
    </span>
  </>
);

interface ColumnProps {
  readonly by: HistorySortBy;
  readonly label: string;
  readonly sort: HistorySort;
  readonly onSort: (by: HistorySortBy) => void;
}

/** The name of a column that sorts. */
const Column = ({ by, label, sort, onSort }: ColumnProps) => {
  const words = sort.ascending ? "ascending" : "descending";
  return (
    <button
      type="button"
      className="flex items-center gap-1 rounded text-left hover:text-text"
      aria-label={`Sort by ${label}${sort.by === by ? `, now ${words}` : ""}`}
      onClick={() => {
        onSort(by);
      }}
    >
      {label} <span aria-hidden="true">{sort.by === by ? (sort.ascending ? "↑" : "↓") : "↕"}</span>
    </button>
  );
};

interface HistoryListProps {
  readonly rows: readonly HistoryRow[];
  readonly sort: HistorySort;
  readonly onSort: (by: HistorySortBy) => void;
  readonly chosen: string | null;
  readonly onOpen: (key: string) => void;
  /** The last rows are on screen. */
  readonly onEnd: () => void;
}

export const HistoryList = ({ rows, sort, onSort, chosen, onOpen, onEnd }: HistoryListProps) => (
  <>
    <div
      className={`${COLUMNS} ${MIDDLE} row-line h-8 shrink-0 border-l-[3px] border-l-transparent text-[11px] text-text-3`}
    >
      <Column by="stored" label="Stored" sort={sort} onSort={onSort} />
      <span aria-hidden="true">Tool</span>
      <span aria-hidden="true">What it does</span>
      <span aria-hidden="true">Agent</span>
      <Column by="risk" label="Risk" sort={sort} onSort={onSort} />
      <span aria-hidden="true">Outcome</span>
      <span aria-hidden="true" className={WIDE}>
        By
      </span>
      <Column by="decided" label="Decided" sort={sort} onSort={onSort} />
      <span aria-hidden="true" className={`text-right ${WIDE}`}>
        Took
      </span>
    </div>
    <VirtualList
      label="History"
      rows={rows}
      nameOf={nameOf}
      rowPx={ROW_PX}
      look={COLUMNS}
      marks={marks}
      renderRow={draw}
      chosen={chosen}
      onChoose={onOpen}
      onOpen={onOpen}
      onEnd={onEnd}
    />
  </>
);
