/** A call tree whose branches can be closed. Pure: lines are given parents first. */
import type { TraceLine } from "../../ipc/generated";

type Lines = readonly Pick<TraceLine, "parent">[];

/** What a line is remembered by, wherever it is by then: its span, or its request where it has no span. */
export type LineKey = number | string;
type Named = Pick<TraceLine, "span" | "request">;

export const keyOf = ({ span, request }: Named): LineKey => span ?? request ?? "";

/** The place of a line now; -1 where it is gone. A request keeps its line when the span comes that waits for it. */
export const placeOf = (lines: readonly Named[], key: LineKey): number => {
  const place = lines.findIndex((line) => keyOf(line) === key);
  return place >= 0 ? place : lines.findIndex((line) => line.request === key);
};

/** The places of all lines that are remembered. */
export const placesOf = (lines: readonly Named[], keys: ReadonlySet<LineKey>): ReadonlySet<number> =>
  new Set(
    keys.size === 0
      ? []
      : lines.flatMap((line, place) => (keys.has(keyOf(line)) || keys.has(line.request ?? "") ? [place] : [])),
  );

/** Which lines have something below them. */
export const branches = (lines: Lines): readonly boolean[] => {
  const found = Array.from({ length: lines.length }, () => false);
  for (const line of lines) if (line.parent !== null) found[line.parent] = true;
  return found;
};

/** The places of the lines that no closed branch hides, in order. */
export const openPlaces = (lines: Lines, closed: ReadonlySet<number>): readonly number[] => {
  const hidden = Array.from({ length: lines.length }, () => false);
  const places: number[] = [];
  for (const [place, { parent }] of lines.entries()) {
    if (parent !== null && (hidden[parent] === true || closed.has(parent))) hidden[place] = true;
    else places.push(place);
  }
  return places;
};

/** The open line that shows a place: itself, or the closed branch that hides it. */
export const standIn = (lines: Lines, closed: ReadonlySet<number>, place: number): number => {
  let shown = place;
  for (let at = lines[place]?.parent ?? null; at !== null; at = lines[at]?.parent ?? null)
    if (closed.has(at)) shown = at;
  return shown;
};

/** The next trouble after a place, round and round; null where there is none. */
export const nextTrouble = (
  lines: readonly TraceLine[],
  from: number,
  isTrouble: (line: TraceLine) => boolean,
): number | null => {
  for (let step = 1; step <= lines.length; step += 1) {
    const place = (from + step) % lines.length;
    const line = lines[place];
    if (line !== undefined && isTrouble(line)) return place;
  }
  return null;
};

/** Every branch above a place is opened. */
export const opened = (lines: Lines, closed: ReadonlySet<number>, place: number): ReadonlySet<number> => {
  const open = new Set(closed);
  for (let at = lines[place]?.parent ?? null; at !== null; at = lines[at]?.parent ?? null) open.delete(at);
  return open;
};
