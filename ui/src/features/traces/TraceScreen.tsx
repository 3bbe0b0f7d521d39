import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Button } from "../../components/Button";
import { Kbd } from "../../components/Kbd";
import { LIST_AND_DETAIL } from "../../components/Region";
import { Unread } from "../../components/Unread";
import { formatDuration } from "../../components/timeline/scale";
import { useCommand } from "../../commands/CommandContext";
import { useDesk } from "../../desk/DeskContext";
import type { TraceTree } from "../../ipc/generated";
import { toCallError } from "../../ipc/transport";
import { LineDetail } from "./LineDetail";
import { TraceRows } from "./TraceRows";
import { useTraceView } from "./useTraceView";

/** A trace in which something goes on is read again after this time; a large one more rarely. */
const AGAIN_MS = 2_000;
const AGAIN_LARGE_MS = 15_000;
const LARGE = 2_000;
const NAMED = 3;

const againAfter = (tree: TraceTree | undefined): number | false => {
  const goesOn = tree?.lines.some((line) => line.look === "running" || line.look === "waiting") ?? false;
  return goesOn ? ((tree?.lines.length ?? 0) > LARGE ? AGAIN_LARGE_MS : AGAIN_MS) : false;
};

const chip = "max-w-[260px] truncate rounded-md border border-line bg-panel px-2.5 py-1 text-text-2";

interface TraceProps {
  readonly tree: TraceTree;
  /** Why it could not be read again. */
  readonly error: Error | null;
  /** The request that the trace was opened from. */
  readonly request: string | null;
}

const Trace = ({ tree, error, request }: TraceProps) => {
  const navigate = useNavigate();
  const asked = tree.lines.findIndex((line) => request !== null && line.request === request);
  const state = useTraceView(tree, Math.max(asked, 0));
  const line = tree.lines[state.at];
  const card = line?.request ?? request;
  const openCard = (): boolean => {
    if (card === null) return false;
    void navigate({ to: "/", search: { card } });
    return true;
  };
  useCommand("trace", openCard);
  const spans = tree.lines.length;
  return (
    <div
      className={`${LIST_AND_DETAIL} grid-cols-[minmax(0,1fr)_min(400px,34%)] narrow:[&>main]:h-[80vh]
        narrow:[&>main]:border-b`}
    >
      <main className="flex min-h-0 min-w-0 flex-col border-r border-line" aria-label="Trace">
        <header
          className={`flex min-h-[52px] items-center gap-2.5 overflow-hidden border-b border-line px-5
          whitespace-nowrap`}
        >
          <h1 className="m-0 text-[15px] font-semibold">Trace</h1>
          {tree.agents.slice(0, NAMED).map((agent) => (
            <span key={agent} className={`${chip} shrink-0`}>
              agent <b className="font-semibold text-text">{agent}</b>
            </span>
          ))}
          {tree.agents.length > NAMED ? (
            <span className={chip} title={tree.agents.slice(NAMED).join(", ")}>
              +{tree.agents.length - NAMED}
            </span>
          ) : null}
          <span className="min-w-0 truncate text-text-3" data-testid="trace-sum">
            {`${spans.toLocaleString("en")} ${spans === 1 ? "line" : "lines"}, ${formatDuration(tree.durationMs)}, `}
            {formatDuration(tree.waitingMs)} of it waiting for a decision
          </span>
          <span className="flex-1" />
          <Button className="!px-2.5 !py-1" onClick={state.fit}>
            Fit <Kbd command="fit" />
          </Button>
          <Button className="!px-2.5 !py-1" disabled={card === null} onClick={openCard}>
            Card <Kbd command="trace" />
          </Button>
        </header>
        <Unread error={error} className="m-0 border-b border-bad-line bg-bad-bg px-5 py-1.5" />
        {tree.truncated ? (
          <p role="status" className="m-0 border-b border-warn-line bg-warn-bg px-5 py-1.5 text-warn-text">
            This trace has more spans than this list, which shows the earliest.
          </p>
        ) : null}
        {tree.partlyRead ? (
          <p role="status" className="m-0 border-b border-warn-line bg-warn-bg px-5 py-1.5 text-warn-text">
            This trace is too large to read every span: sums, error codes and marks are incomplete.
          </p>
        ) : null}
        <TraceRows tree={tree} state={state} />
      </main>
      <aside
        className="min-h-0 min-w-0 overflow-auto px-5 py-[18px] outline-offset-[-2px]"
        aria-label="Span"
        data-testid="span-detail"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is read by keyboard alone too
        tabIndex={0}
      >
        {line === undefined ? null : (
          <LineDetail key={`${line.span ?? ""} ${line.request ?? ""}`} line={line} tree={tree} />
        )}
      </aside>
    </div>
  );
};

/** One call tree on its time line. */
export const TraceScreen = () => {
  const { key, card } = useSearch({ from: "/traces/tree" });
  const desk = useDesk();
  const navigate = useNavigate();
  const { data, error } = useQuery({
    queryKey: ["trace", key],
    queryFn: () => desk.call("trace_tree", { key }),
    refetchInterval: (query) => againAfter(query.state.data),
    staleTime: 0,
  });
  useCommand(
    "back",
    () => void (card === undefined ? navigate({ to: "/traces" }) : navigate({ to: "/", search: { card } })),
  );
  if (data !== undefined)
    return <Trace key={key} tree={data} error={error} request={card ?? (key.includes("/") ? key : null)} />;
  const failed = error === null ? null : toCallError(error);
  return (
    <div className="grid flex-1 place-items-center text-text-3" data-testid="trace-empty">
      {failed === null ? (
        "Reading the trace…"
      ) : (
        <div className="max-w-prose px-7 text-center" role="alert">
          <p className={failed.code === "not_found" ? "text-text-2" : "text-bad"}>
            {failed.code === "not_found"
              ? "Trace not found: none of its spans has reached this console."
              : failed.message}
          </p>
          <p>
            Agents send their steps as spans; a request alone has none. <kbd className="kbd">Esc</kbd> goes back.
          </p>
        </div>
      )}
    </div>
  );
};
