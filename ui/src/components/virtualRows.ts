import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, type RefObject } from "react";

type Key = string | number;

/** A row that is drawn. */
interface VirtualRow {
  readonly index: number;
  /** Where it begins, in pixels. */
  readonly start: number;
  /** The element that draws it. Elements are used again: making new ones is what costs time while scrolling. */
  readonly slot: number;
}

interface VirtualRowsOptions {
  /** What names each row, in their order. */
  readonly keys: readonly Key[];
  readonly rowPx: number;
  /** Rows drawn above and below what is seen. */
  readonly overscan: number;
  /** The row that is brought into view when another one is chosen, and by nothing else. */
  readonly cursor: Key | null;
  /** The last rows are drawn. */
  readonly onEnd?: (() => void) | undefined;
}

interface VirtualRows {
  readonly scroller: RefObject<HTMLDivElement | null>;
  /** Of all rows, in pixels. */
  readonly height: number;
  readonly rows: readonly VirtualRow[];
}

/** So many elements are enough for every place that this height can be scrolled to. */
export const slotsFor = (heightPx: number, rowPx: number, overscan: number, drawn: number): number =>
  Math.max(Math.ceil(heightPx / rowPx) + 1 + 2 * overscan, drawn, 1);

/**
 * By how many places the list moved under the rows of `before` from `first` to `last`: what most of them did, or what
 * the chosen one did together with others. A row that goes elsewhere alone, as one that was written to last, takes
 * nobody along.
 */
export const movedBy = (
  before: readonly Key[],
  after: readonly Key[],
  first: number,
  last: number,
  cursor: Key | null,
): number => {
  const seen = before.slice(first, last + 1);
  if (seen.every((key, number) => after[first + number] === key)) return 0;
  const places = new Map(after.map((key, place) => [key, place]));
  const moves = new Map<number, number>();
  let own: number | null = null;
  for (const [number, key] of seen.entries()) {
    const place = places.get(key);
    if (place === undefined) continue;
    const by = place - first - number;
    moves.set(by, (moves.get(by) ?? 0) + 1);
    if (key === cursor) own = by;
  }
  const [most] = [...moves].toSorted(([, a], [, b]) => b - a);
  if (most === undefined) return 0;
  return own !== null && ((moves.get(own) ?? 0) > 1 || most[1] === 1) ? own : most[0];
};

/** What is on screen stays where it is when other rows come or go; a row that is chosen is brought into view. */
const useHeldScroll = (
  scroller: RefObject<HTMLDivElement | null>,
  keys: readonly Key[],
  rowPx: number,
  cursor: Key | null,
): void => {
  const before = useRef(keys);
  // As it was before rows came or went: a list that became shorter is scrolled by the page itself.
  const top = useRef(0);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const look = (): void => {
      top.current = element.scrollTop;
    };
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      element.removeEventListener("scroll", look);
    };
  }, [scroller]);
  const scrollTo = (element: HTMLElement, wanted: number): void => {
    element.scrollTop = wanted;
    top.current = element.scrollTop;
  };
  useLayoutEffect(() => {
    const [element, last] = [scroller.current, before.current];
    before.current = keys;
    if (element === null || last === keys) return;
    const first = Math.floor(top.current / rowPx);
    const by = movedBy(last, keys, first, Math.ceil((top.current + element.clientHeight) / rowPx) - 1, cursor);
    if (by !== 0) scrollTo(element, top.current + by * rowPx);
  });
  const brought = useRef<Key | null>(null);
  const place = cursor === null ? -1 : keys.indexOf(cursor);
  useEffect(() => {
    const element = scroller.current;
    if (element === null || place < 0 || brought.current === cursor) return;
    brought.current = cursor;
    const start = place * rowPx;
    if (start < element.scrollTop) scrollTo(element, start);
    else if (start + rowPx > element.scrollTop + element.clientHeight)
      scrollTo(element, start + rowPx - element.clientHeight);
  }, [cursor, place, rowPx, scroller]);
};

/** Rows of one height; only those on screen and a few around them are drawn. */
export const useVirtualRows = ({ keys, rowPx, overscan, cursor, onEnd }: VirtualRowsOptions): VirtualRows => {
  const scroller = useRef<HTMLDivElement>(null);
  const count = keys.length;
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= count - 1) onEnd?.();
  }, [last, onEnd, count]);
  useHeldScroll(scroller, keys, rowPx, cursor);
  const slots = slotsFor(virtual.scrollRect?.height ?? 0, rowPx, overscan, items.length);
  return {
    scroller,
    height: virtual.getTotalSize(),
    rows: items.map((item) => ({ index: item.index, start: item.start, slot: item.index % slots })),
  };
};
