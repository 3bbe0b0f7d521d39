import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, type RefObject } from "react";

/** A row that is drawn. */
export interface VirtualRow {
  readonly index: number;
  /** Where it begins, in pixels. */
  readonly start: number;
  /** The element that draws it. Elements are used again: making new ones is what costs time while scrolling. */
  readonly slot: number;
}

interface VirtualRowsOptions {
  readonly count: number;
  readonly rowPx: number;
  /** Rows drawn above and below what is seen. */
  readonly overscan: number;
  /** The row that is brought into view when it changes; -1 for none. */
  readonly at: number;
  /** The last rows are drawn. */
  readonly onEnd?: (() => void) | undefined;
}

export interface VirtualRows {
  readonly scroller: RefObject<HTMLDivElement | null>;
  /** Of all rows, in pixels. */
  readonly height: number;
  readonly rows: readonly VirtualRow[];
}

/** So many elements are enough for every place that this height can be scrolled to. */
export const slotsFor = (heightPx: number, rowPx: number, overscan: number, drawn: number): number =>
  Math.max(Math.ceil(heightPx / rowPx) + 1 + 2 * overscan, drawn, 1);

/** Rows of one height, of which only those on screen and a few around them are drawn. */
export const useVirtualRows = ({ count, rowPx, overscan, at, onEnd }: VirtualRowsOptions): VirtualRows => {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count, getScrollElement: () => scroller.current, estimateSize: () => rowPx, overscan });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => { if (last >= count - 1) onEnd?.(); }, [last, onEnd, count]);
  useEffect(() => { if (at >= 0) virtual.scrollToIndex(at); }, [at, virtual]);
  const slots = slotsFor(virtual.scrollRect?.height ?? 0, rowPx, overscan, items.length);
  return {
    scroller, height: virtual.getTotalSize(),
    rows: items.map((item) => ({ index: item.index, start: item.start, slot: item.index % slots })),
  };
};
