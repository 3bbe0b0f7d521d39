import { ChevronDown, ChevronRight, Paperclip, TriangleAlert } from "lucide-react";
import { memo, useMemo, useRef, type WheelEvent } from "react";
import { Bar } from "../../components/timeline/Bar";
import { isTrouble, KIND_WORDS, outcomeOf, standingOf } from "../../components/timeline/looks";
import { formatTick, placed, ticks, type TimeWindow } from "../../components/timeline/scale";
import { ShownText } from "../../components/ShownText";
import { useVirtualRows } from "../../components/virtualRows";
import type { TraceLine, TraceTree } from "../../ipc/generated";
import { keyOf, type LineKey } from "./tree";
import type { TraceViewState } from "./useTraceView";

const ROW_PX = 28;
const COLUMNS = "grid grid-cols-[min(330px,40%)_minmax(0,1fr)_84px] gap-x-3 pl-4 pr-5";
/** Deeper places are drawn at this one: the name must stay readable. */
const DEEPEST_DRAWN = 12;
const INDENT_PX = 16;

interface RowProps {
  readonly line: TraceLine;
  readonly agent: string | null;
  readonly place: number;
  readonly top: number;
  readonly selected: boolean;
  readonly branch: boolean;
  readonly closed: boolean;
  readonly view: TimeWindow;
  readonly untilMs: number;
  readonly onChoose: (line: LineKey) => void;
  readonly onToggle: (line: LineKey) => void;
}

const lineId = (place: number): string => `line-${place}`;

const Row = memo(function Row({
  line,
  agent,
  place,
  top,
  selected,
  branch,
  closed,
  view,
  untilMs,
  onChoose,
  onToggle,
}: RowProps) {
  const Fold = closed ? ChevronRight : ChevronDown;
  return (
    // The keys are those of the tree.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
    <div
      id={lineId(place)}
      role="treeitem"
      aria-level={line.depth + 1}
      aria-selected={selected}
      {...(branch ? { "aria-expanded": !closed } : {})}
      data-testid="line"
      data-look={line.look}
      data-place={place}
      style={{ transform: `translateY(${top}px)` }}
      className={`${COLUMNS} absolute top-0 left-0 h-7 w-full items-center font-mono text-xs contain-strict
        ${selected ? "bg-raised shadow-[inset_3px_0_var(--accent)]" : "hover:bg-panel"}`}
      onClick={() => {
        onChoose(keyOf(line));
      }}
    >
      <span
        className="flex min-w-0 items-center text-text-2"
        style={{ paddingLeft: Math.min(line.depth, DEEPEST_DRAWN) * INDENT_PX }}
      >
        {branch ? (
          // The keys of the tree do the same.
          <button
            type="button"
            tabIndex={-1}
            className="-ml-0.5 mr-0.5 rounded text-text-3 hover:text-text"
            aria-label={closed ? "Open" : "Close"}
            onClick={(event) => {
              event.stopPropagation();
              onToggle(keyOf(line));
            }}
          >
            <Fold size={13} aria-hidden="true" />
          </button>
        ) : (
          <span className="w-[13px] shrink-0" />
        )}
        <span className="mr-2 shrink-0 text-text-3">{KIND_WORDS[line.kind]}</span>
        <span className="truncate text-text">
          <ShownText text={line.name} />
        </span>
        {agent === null ? null : <span className="ml-2 shrink-0 text-text-3">{agent}</span>}
        {line.shortened ? (
          <span className="ml-2 shrink-0 rounded border border-line px-1 font-sans text-[10.5px] text-text-3">
            shortened
          </span>
        ) : null}
        {line.artifacts > 0 ? (
          <Paperclip size={11} className="ml-2 shrink-0 text-text-3" aria-label={`${line.artifacts} artifacts`} />
        ) : null}
        {line.repairs.length > 0 ? (
          <TriangleAlert size={12} className="ml-2 shrink-0 text-warn" aria-label="Drawn with repairs" />
        ) : null}
      </span>
      <Bar line={line} view={view} untilMs={untilMs} />
      <span
        className={`truncate text-right
          ${isTrouble(line.look) ? "text-bad" : line.look === "waiting" ? "text-warn" : "text-text-2"}`}
      >
        {outcomeOf(line)}
        <span className="sr-only">, {standingOf(line)}</span>
      </span>
    </div>
  );
});

interface TraceRowsProps {
  readonly tree: TraceTree;
  readonly state: TraceViewState;
}

const WHEEL_STEP = 1.15;

/** The call tree on its time line; only what is on screen is drawn. */
export const TraceRows = ({ tree, state }: TraceRowsProps) => {
  const { places, at, view, closed, branch } = state;
  const axis = useRef<HTMLDivElement>(null);
  const keys = useMemo(
    () => places.map((place) => keyOf(tree.lines[place] ?? { span: null, request: null })),
    [places, tree],
  );
  const { scroller, height, rows } = useVirtualRows({
    keys,
    rowPx: ROW_PX,
    overscan: 6,
    cursor: keys[places.indexOf(at)] ?? null,
  });
  const onWheel = (event: WheelEvent): void => {
    const box = axis.current?.getBoundingClientRect();
    if (!event.ctrlKey || box === undefined || box.width === 0) return;
    const part = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    state.zoom(event.deltaY < 0 ? WHEEL_STEP : 1 / WHEEL_STEP, view.from + part * (view.to - view.from));
  };
  return (
    <div className="flex min-h-0 flex-1 flex-col" onWheel={onWheel}>
      <div
        className={`${COLUMNS} row-line h-8 shrink-0 items-center font-mono text-[11px] text-text-3`}
        aria-hidden="true"
      >
        <span className="font-sans">What</span>
        <div ref={axis} className="relative h-4" data-testid="axis">
          {ticks(view).map((tick, index) => {
            const place = placed(tick, tick, view);
            return place === null || place.left > 94 ? null : (
              <span
                key={tick}
                className={`absolute whitespace-nowrap ${index % 2 === 0 ? "" : "max-xl:hidden"}`}
                style={{ left: `${place.left}%` }}
              >
                {formatTick(tick, view)}
              </span>
            );
          })}
        </div>
        <span className="text-right font-sans">Time</span>
      </div>
      <div
        ref={scroller}
        className="min-h-0 flex-1 overflow-x-hidden overflow-y-auto"
        role="tree"
        tabIndex={0}
        aria-label="Call tree"
        data-testid="tree"
        aria-activedescendant={lineId(at)}
      >
        <div className="relative" role="presentation" style={{ height }}>
          {rows.map(({ index, start, slot }) => {
            const place = places[index] ?? 0;
            const line = tree.lines[place];
            if (line === undefined) return null;
            const above = line.parent === null ? null : tree.lines[line.parent];
            const stranger = above === null ? tree.agents.length > 1 : above?.agent !== line.agent;
            return (
              <Row
                key={slot}
                line={line}
                agent={stranger ? (tree.agents[line.agent] ?? null) : null}
                place={place}
                top={start}
                selected={place === at}
                branch={branch[place] === true}
                closed={closed.has(place)}
                view={view}
                untilMs={
                  line.look === "unfinished" && above != null ? (above.endMs ?? tree.durationMs) : tree.durationMs
                }
                onChoose={state.choose}
                onToggle={state.toggle}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
};
