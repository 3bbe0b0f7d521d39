/** The lines of the list: rows with a heading before those that are due within a minute. */
import { isHot } from "../../desk/clock";
import type { InboxRow } from "../../ipc/generated";

export type Line =
  | { readonly type: "heading"; readonly id: "soon" | "later" }
  | { readonly type: "row"; readonly row: InboxRow; readonly place: number };

export const HEADING_PX = 30;
export const ROW_PX = 36;

/** How many rows are due within a minute: a prefix, because the rows are in deadline order. */
export const countSoon = (rows: readonly InboxRow[], nowMs: number): number => {
  const first = rows.findIndex((row) => !isHot(row.deadlineMs - nowMs));
  return first < 0 ? rows.length : first;
};

export const linesOf = (rows: readonly InboxRow[], soon: number): Line[] => {
  const lines: Line[] = [];
  let open: "soon" | "later" | null = null;
  rows.forEach((row, place) => {
    const id = place < soon ? "soon" : "later";
    if (id !== open) {
      lines.push({ type: "heading", id });
      open = id;
    }
    lines.push({ type: "row", row, place });
  });
  return lines;
};

/** Distance of a line from the top of the list. */
export const topOf = (lines: readonly Line[], index: number): number =>
  lines.slice(0, index).reduce((top, line) => top + (line.type === "heading" ? HEADING_PX : ROW_PX), 0);

export const lineOf = (lines: readonly Line[], key: string | null): number =>
  lines.findIndex((line) => line.type === "row" && line.row.key === key);
