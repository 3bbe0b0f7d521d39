import { useCallback, useMemo, useState } from "react";
import { around, panned, whole, zoomed, type TimeWindow } from "../../components/timeline/scale";
import { isTrouble } from "../../components/timeline/looks";
import { useCommand } from "../../commands/CommandContext";
import type { TraceLine, TraceTree } from "../../ipc/generated";
import { branches, nextTrouble, opened, openPlaces, standIn } from "./tree";

const STEP = 1.6;
const PAN = 0.25;

export interface TraceViewState {
  /** Places of the lines that are not hidden in a closed branch. */
  readonly places: readonly number[];
  readonly branch: readonly boolean[];
  readonly closed: ReadonlySet<number>;
  /** Place of the line under the cursor. */
  readonly at: number;
  readonly view: TimeWindow;
  readonly choose: (place: number) => void;
  readonly toggle: (place: number) => void;
  readonly zoom: (factor: number, atMs: number) => void;
  readonly fit: () => void;
}

const endOf = (line: TraceLine, tree: TraceTree): number => Math.max(line.endMs ?? tree.durationMs, line.wait?.endMs ?? 0);

/** Cursor, closed branches and time window of one trace, with their keys. */
export const useTraceView = (tree: TraceTree, start: number): TraceViewState => {
  const { lines, durationMs } = tree;
  const [cursor, setCursor] = useState(start);
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set<number>());
  // Null follows the whole trace while it grows.
  const [chosen, setChosen] = useState<TimeWindow | null>(null);
  // The same one as long as nothing changes: every line on screen hangs on it.
  const view = useMemo(() => chosen ?? whole(durationMs), [chosen, durationMs]);
  const places = useMemo(() => openPlaces(lines, closed), [lines, closed]);
  const branch = useMemo(() => branches(lines), [lines]);
  const at = standIn(lines, closed, Math.min(cursor, Math.max(lines.length - 1, 0)));
  const line = lines[at];

  const move = (step: 1 | -1): void => {
    const row = places.indexOf(at) + step;
    setCursor(places[Math.min(Math.max(row, 0), places.length - 1)] ?? at);
  };
  const toggle = useCallback((place: number) => {
    setClosed((now) => {
      const next = new Set(now);
      if (!next.delete(place)) next.add(place);
      return next;
    });
  }, []);
  const zoom = useCallback((factor: number, atMs: number) => {
    setChosen((now) => {
      const next = zoomed(now ?? whole(durationMs), factor, atMs, durationMs);
      return next.to - next.from >= whole(durationMs).to ? null : next;
    });
  }, [durationMs]);
  const fit = useCallback(() => { setChosen(null); }, []);
  const middle = line === undefined ? durationMs / 2 : Math.min(Math.max((line.startMs + endOf(line, tree)) / 2, view.from), view.to);

  useCommand("next", () => { move(1); });
  useCommand("previous", () => { move(-1); });
  useCommand("close", () => {
    if (branch[at] === true && !closed.has(at)) toggle(at);
    else if (line?.parent != null) setCursor(line.parent);
  });
  useCommand("open", () => {
    if (branch[at] === true && closed.has(at)) toggle(at);
    else move(1);
  });
  useCommand("trouble", () => {
    const found = nextTrouble(lines, at, (other) => isTrouble(other.look) || other.repairs.length > 0);
    if (found === null) return;
    setClosed((now) => opened(lines, now, found));
    setCursor(found);
  });
  useCommand("closer", () => { zoom(STEP, middle); });
  useCommand("farther", () => { zoom(1 / STEP, middle); });
  useCommand("earlier", () => { if (chosen !== null) setChosen(panned(chosen, -PAN, durationMs)); });
  useCommand("later", () => { if (chosen !== null) setChosen(panned(chosen, PAN, durationMs)); });
  useCommand("fit", fit);
  useCommand("focusSpan", () => { if (line !== undefined) setChosen(around(line.startMs, endOf(line, tree), durationMs)); });

  return { places, branch, closed, at, view, choose: setCursor, toggle, zoom, fit };
};
