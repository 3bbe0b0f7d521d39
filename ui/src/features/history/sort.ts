/** The order of the history. Pure. */
import type { HistorySort, HistorySortBy } from "../../ipc/generated";

export const NEWEST: HistorySort = { by: "stored", ascending: false };

/** A click on a column: the most useful end first, then the other way round. */
export const sortedBy = (sort: HistorySort, by: HistorySortBy): HistorySort =>
  sort.by === by ? { by, ascending: !sort.ascending } : { by, ascending: false };

const WORDS: Record<HistorySortBy, readonly [descending: string, ascending: string]> = {
  stored: ["newest first", "oldest first"],
  decided: ["last decided first", "first decided first"],
  risk: ["highest risk first", "lowest risk first"],
};
export const wordsOf = ({ by, ascending }: HistorySort): string => WORDS[by][ascending ? 1 : 0];
