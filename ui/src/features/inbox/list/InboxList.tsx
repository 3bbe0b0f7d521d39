import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, type RefObject } from "react";
import { useServerSecond } from "../../../desk/DeskContext";
import type { InboxRow } from "../../../ipc/generated";
import { countSoon, HEADING_PX, lineOf, linesOf, ROW_PX, topOf } from "../groups";
import { InboxItem, optionId } from "./InboxItem";

interface InboxListProps {
  /** The list itself, which takes the focus. */
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly rows: readonly InboxRow[];
  readonly cursor: string | null;
  /** Rows that are answered together. */
  readonly picked: readonly string[];
  readonly onSelect: (key: string) => void;
}

const HEADING = { soon: "Due within a minute", later: "Later" } as const;

/** The waiting requests. What arrives above the cursor moves no row that is on screen. */
export const InboxList = ({ scroller, rows, cursor, picked, onSelect }: InboxListProps) => {
  const now = useServerSecond();
  const soon = countSoon(rows, now);
  const lines = useMemo(() => linesOf(rows, soon), [rows, soon]);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (lines[index]?.type === "heading" ? HEADING_PX : ROW_PX),
    getItemKey: (index) => {
      const line = lines[index];
      return line === undefined ? index : line.type === "heading" ? line.id : line.row.key;
    },
    overscan: 8,
  });
  // Which lines are headings changes with time: sizes are looked up anew.
  useLayoutEffect(() => {
    virtual.measure();
  }, [lines, virtual]);

  const place = lineOf(lines, cursor);
  const top = place < 0 ? null : topOf(lines, place);
  const before = useRef<{ cursor: string | null; top: number | null }>({ cursor: null, top: null });
  // As it was before rows came or went: a list that became shorter is scrolled by the page itself.
  const scrolled = useRef(0);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const look = (): void => {
      scrolled.current = element.scrollTop;
    };
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      element.removeEventListener("scroll", look);
    };
  }, [scroller]);
  const scrollTo = (element: HTMLElement, wanted: number): void => {
    element.scrollTop = wanted;
    scrolled.current = element.scrollTop;
  };
  useLayoutEffect(() => {
    const element = scroller.current;
    const last = before.current;
    before.current = { cursor, top };
    if (element === null || top === null || last.top === null || last.cursor !== cursor || last.top === top) return;
    scrollTo(element, scrolled.current + top - last.top);
  }, [cursor, scroller, top]);
  useEffect(() => {
    const element = scroller.current;
    const at = before.current.top;
    if (element === null || cursor === null || at === null) return;
    if (at < element.scrollTop + HEADING_PX) scrollTo(element, at - HEADING_PX);
    else if (at + ROW_PX > element.scrollTop + element.clientHeight)
      scrollTo(element, at + ROW_PX - element.clientHeight);
  }, [cursor, scroller]);

  return (
    <div
      ref={scroller}
      className={`min-h-0 flex-1 overflow-auto outline-offset-[-2px] narrow:h-[66px] narrow:flex-none narrow:basis-full
        narrow:tiny:hidden`}
      role="listbox"
      tabIndex={0}
      aria-label="Waiting requests, by deadline"
      aria-multiselectable={picked.length > 0}
      {...(place < 0 || cursor === null ? {} : { "aria-activedescendant": optionId(cursor) })}
    >
      <div className="relative" style={{ height: virtual.getTotalSize() }} role="presentation">
        {virtual.getVirtualItems().map((item) => {
          const line = lines[item.index];
          if (line === undefined) return null;
          return (
            <div
              key={item.key}
              role="presentation"
              className="absolute top-0 left-0 w-full"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              {line.type === "heading" ? (
                <div
                  role="presentation"
                  className="flex h-[30px] items-end px-3.5 pb-1 text-[11px] tracking-wide text-text-3"
                >
                  {HEADING[line.id]}
                </div>
              ) : (
                <InboxItem
                  row={line.row}
                  place={line.place}
                  count={rows.length}
                  selected={line.row.key === cursor}
                  picked={picked.includes(line.row.key)}
                  onSelect={onSelect}
                />
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
};
