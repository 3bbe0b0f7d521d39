import { memo, useEffect, type ReactNode } from "react";
import { useVirtualRows } from "./virtualRows";

/** What a row is called, for the page's own tests. */
type Marks = Readonly<Record<`data-${string}`, string>>;

interface OptionProps<T> {
  readonly row: T;
  readonly id: string;
  readonly name: string;
  readonly place: number;
  readonly count: number;
  readonly top: number;
  readonly rowPx: number;
  readonly selected: boolean;
  readonly look: string;
  readonly marks: (row: T) => Marks;
  readonly renderRow: (row: T) => ReactNode;
  readonly onChoose: (name: string) => void;
}

const Drawn = <T,>({
  row,
  id,
  name,
  place,
  count,
  top,
  rowPx,
  selected,
  look,
  marks,
  renderRow,
  onChoose,
}: OptionProps<T>) => (
  // The keys are those of the list.
  // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
  <div
    id={id}
    role="option"
    aria-selected={selected}
    aria-posinset={place + 1}
    aria-setsize={count}
    {...marks(row)}
    className={`${look} row-line absolute top-0 left-0 w-full border-l-[3px] contain-strict
      ${selected ? "border-l-accent bg-raised" : "border-l-transparent hover:bg-panel"}`}
    style={{ height: rowPx, transform: `translateY(${top}px)` }}
    onClick={() => {
      onChoose(name);
    }}
  >
    {renderRow(row)}
  </div>
);
/** Drawn anew only when something of it changes: while scrolling most rows only move. */
const Option = memo(Drawn) as typeof Drawn;

interface VirtualListProps<T> {
  readonly label: string;
  readonly rows: readonly T[];
  readonly nameOf: (row: T) => string;
  readonly rowPx: number;
  /** Columns and padding of a row. */
  readonly look: string;
  readonly marks: (row: T) => Marks;
  /** The same function for as long as nothing else changes what a row shows. */
  readonly renderRow: (row: T) => ReactNode;
  readonly chosen: string | null;
  readonly onChoose: (name: string) => void;
  /** Enter, while the list has the focus. */
  readonly onOpen?: (name: string) => void;
  /** The last rows are on screen. */
  readonly onEnd?: (() => void) | undefined;
  /** Has the focus from the beginning, whatever had it before. */
  readonly takesFocus?: boolean;
}

/** A list of rows of one height, however long: one of them is chosen, and only those on screen are drawn. */
export const VirtualList = <T,>({
  label,
  rows,
  nameOf,
  rowPx,
  look,
  marks,
  renderRow,
  chosen,
  onChoose,
  onOpen,
  onEnd,
  takesFocus = false,
}: VirtualListProps<T>) => {
  const {
    scroller,
    height,
    rows: drawn,
  } = useVirtualRows({ keys: rows.map(nameOf), rowPx, overscan: 8, cursor: chosen, onEnd });
  useEffect(() => {
    if (takesFocus) scroller.current?.focus({ preventScroll: true });
  }, [scroller, takesFocus]);
  // What J and K choose is heard by a screen reader only where the list has the focus. It is taken from nobody.
  useEffect(() => {
    if (document.activeElement === document.body) scroller.current?.focus({ preventScroll: true });
  }, [scroller, chosen]);
  const idOf = (name: string): string => `${label.replaceAll(" ", "-")}-${name}`;
  return (
    <div
      ref={scroller}
      className="min-h-0 flex-1 overflow-x-hidden overflow-y-auto outline-offset-[-2px]"
      role="listbox"
      tabIndex={0}
      aria-label={label}
      {...(chosen === null ? {} : { "aria-activedescendant": idOf(chosen) })}
      onKeyDown={(event) => {
        if (event.key === "Enter" && chosen !== null) onOpen?.(chosen);
      }}
    >
      <div className="relative" role="presentation" style={{ height }}>
        {drawn.map(({ index, start, slot }) => {
          const row = rows[index];
          if (row === undefined) return null;
          const name = nameOf(row);
          return (
            <Option
              key={slot}
              row={row}
              id={idOf(name)}
              name={name}
              place={index}
              count={rows.length}
              top={start}
              rowPx={rowPx}
              selected={name === chosen}
              look={look}
              marks={marks}
              renderRow={renderRow}
              onChoose={onChoose}
            />
          );
        })}
      </div>
    </div>
  );
};
