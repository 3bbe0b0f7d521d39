import { useCallback, useMemo, useState } from "react";
import { around, panned, whole, zoomed, type TimeWindow } from "../../components/timeline/scale";
import { isTrouble } from "../../components/timeline/looks";
import { useCommand } from "../../commands/CommandContext";
import type { TraceLine, TraceTree } from "../../ipc/generated";
import { branches, keyOf, nextTrouble, opened, openPlaces, placeOf, placesOf, standIn, type LineKey } from "./tree";

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
  readonly choose: (line: LineKey) => void;
  readonly toggle: (line: LineKey) => void;
  readonly zoom: (factor: number, atMs: number) => void;
  readonly fit: () => void;
}

const endOf = (line: TraceLine, tree: TraceTree): number =>
  Math.max(line.endMs ?? tree.durationMs, line.wait?.endMs ?? 0);

/** Cursor, closed branches and time window of one trace, with their keys. */
export const useTraceView = (tree: TraceTree, start: number): TraceViewState => {
  const { lines, durationMs } = tree;
  const keyAt = (place: number): LineKey => keyOf(lines[place] ?? { span: null, request: null });
  // Lines by what they are: a running trace gets lines before them, too.
  const [cursor, setCursor] = useState(() => keyAt(start));
  const [shut, setShut] = useState<ReadonlySet<LineKey>>(new Set<LineKey>());
  const closed = useMemo(() => placesOf(lines, shut), [lines, shut]);
  // Null follows the whole trace while it grows.
  const [chosen, setChosen] = useState<TimeWindow | null>(null);
  // The same one as long as nothing changes: every line on screen hangs on it.
  const view = useMemo(() => chosen ?? whole(durationMs), [chosen, durationMs]);
  const places = useMemo(() => openPlaces(lines, closed), [lines, closed]);
  const branch = useMemo(() => branches(lines), [lines]);
  const at = standIn(lines, closed, Math.max(placeOf(lines, cursor), 0));
  const line = lines[at];

  const move = (step: 1 | -1): void => {
    const row = places.indexOf(at) + step;
    setCursor(keyAt(places[Math.min(Math.max(row, 0), places.length - 1)] ?? at));
  };
  const toggle = useCallback(
    (key: LineKey) => {
      setShut((now) => {
        const next = new Set(now);
        // It may have been closed before its span came.
        const names = [key, lines[placeOf(lines, key)]?.request ?? key];
        if (names.map((name) => next.delete(name)).every((was) => !was)) next.add(key);
        return next;
      });
    },
    [lines],
  );
  const zoom = useCallback(
    (factor: number, atMs: number) => {
      setChosen((now) => {
        const next = zoomed(now ?? whole(durationMs), factor, atMs, durationMs);
        return next.to - next.from >= whole(durationMs).to ? null : next;
      });
    },
    [durationMs],
  );
  const fit = useCallback(() => {
    setChosen(null);
  }, []);
  const middle =
    line === undefined
      ? durationMs / 2
      : Math.min(Math.max((line.startMs + endOf(line, tree)) / 2, view.from), view.to);

  useCommand("next", () => {
    move(1);
  });
  useCommand("previous", () => {
    move(-1);
  });
  useCommand("close", () => {
    if (branch[at] === true && !closed.has(at)) toggle(keyAt(at));
    else if (line?.parent != null) setCursor(keyAt(line.parent));
  });
  useCommand("open", () => {
    if (branch[at] === true && closed.has(at)) toggle(keyAt(at));
    else move(1);
  });
  useCommand("trouble", () => {
    const found = nextTrouble(lines, at, (other) => isTrouble(other.look) || other.repairs.length > 0);
    if (found === null) return;
    setShut(new Set([...opened(lines, closed, found)].map(keyAt)));
    setCursor(keyAt(found));
  });
  useCommand("closer", () => {
    zoom(STEP, middle);
  });
  useCommand("farther", () => {
    zoom(1 / STEP, middle);
  });
  useCommand("earlier", () => {
    if (chosen !== null) setChosen(panned(chosen, -PAN, durationMs));
  });
  useCommand("later", () => {
    if (chosen !== null) setChosen(panned(chosen, PAN, durationMs));
  });
  useCommand("fit", fit);
  useCommand("focusSpan", () => {
    if (line !== undefined) setChosen(around(line.startMs, endOf(line, tree), durationMs));
  });

  return { places, branch, closed, at, view, choose: setCursor, toggle, zoom, fit };
};
