import { AgentKey } from "../../components/AgentKey";
import { RiskBadge } from "../../components/RiskBadge";
import { plainText } from "../../components/shown";
import { ShownText } from "../../components/ShownText";
import { formatDuration } from "../../components/timeline/scale";
import { pastOf } from "../../components/verdict";
import { VirtualList } from "../../components/VirtualList";
import { Moment } from "../../components/Moment";
import type { HistoryRow } from "../../ipc/generated";

const ROW_PX = 40;
const COLUMNS =
  "grid grid-cols-[142px_minmax(0,1.5fr)_minmax(0,1.2fr)_74px_minmax(0,1.3fr)_minmax(0,1fr)_84px] items-center gap-x-4 pr-5 pl-[17px]";

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
    <span className="whitespace-nowrap text-text-3">
      <Moment ms={row.storedMs} />
    </span>
    <span className="truncate font-mono text-[12.5px] font-semibold">
      {row.tool === null ? (
        <span className="font-sans font-normal text-text-2">{row.kind ?? "no request"}</span>
      ) : (
        <ShownText text={row.tool} />
      )}
    </span>
    <span className="min-w-0 text-text-2">
      {row.workspace === "" ? "no valid subject" : <AgentKey of={`${row.workspace}/${row.agent}`} />}
    </span>
    <span>{row.state === "rejected" ? null : <RiskBadge risk={row.risk} />}</span>
    <span className="truncate">
      <span className={tone(row)}>{outcomeOf(row)}</span>
      {row.message === null ? null : (
        <span className="text-text-3">
          {" "}
          “<ShownText text={row.message} />”
        </span>
      )}
    </span>
    <span className="truncate text-text-2">
      {row.mine ? "you" : row.by === null ? "" : <ShownText text={row.by} />}
      {row.origin === null || plainText(row.origin) === "operator" ? null : (
        <span className="text-text-3"> ({plainText(row.origin).replace("_", " ")})</span>
      )}
    </span>
    <span className="text-right font-mono text-xs text-text-3">
      {row.decidedMs === null ? "" : formatDuration(row.decidedMs - row.storedMs)}
    </span>
  </>
);

interface HistoryListProps {
  readonly rows: readonly HistoryRow[];
  readonly chosen: string | null;
  readonly onOpen: (key: string) => void;
  /** The last rows are on screen. */
  readonly onEnd: () => void;
}

export const HistoryList = ({ rows, chosen, onOpen, onEnd }: HistoryListProps) => (
  <>
    <div
      className={`${COLUMNS} row-line h-8 shrink-0 border-l-[3px] border-l-transparent text-[11px] text-text-3`}
      aria-hidden="true"
    >
      <span>Stored</span>
      <span>Tool</span>
      <span>Agent</span>
      <span>Risk</span>
      <span>Outcome</span>
      <span>By</span>
      <span className="text-right">Waited</span>
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
