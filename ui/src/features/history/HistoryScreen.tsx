import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { useDeferredValue, useEffect, useMemo, useState } from "react";
import { useCommand } from "../../commands/CommandContext";
import { Button } from "../../components/Button";
import { Kbd } from "../../components/Kbd";
import { useChosen } from "../../components/useChosen";
import { useDesk } from "../../desk/DeskContext";
import { gather } from "../../desk/gather";
import { createStore, useStore } from "../../desk/store";
import type { HistoryCursor, HistoryFilterView, HistorySort } from "../../ipc/generated";
import { FilterBar } from "./FilterBar";
import { EVERYTHING, isNarrow } from "./filter";
import { ExportBar, ExportMenu } from "./ExportMenu";
import { HistoryList } from "./HistoryList";
import { NEWEST, sortedBy, wordsOf } from "./sort";
import { useExport } from "./useExport";
import { Searches } from "./Searches";
import { Failed } from "../../components/Failed";
import { FilterField } from "../../components/FilterField";

/** The filter that the operator chose: a look elsewhere must not lose it. */
const ownFilter = createStore<HistoryFilterView>(EVERYTHING);
/** The order that the operator chose. */
const ownSort = createStore<HistorySort>(NEWEST);
/**
 * What was moved to or opened, for whoever comes back from a story; null while nothing was: the newest is looked at
 * then.
 */
const leftAt = createStore<string | null>(null);

/** What happens to several requests is read together. */
const GATHER_MS = 400;

const useHistory = (filter: HistoryFilterView, sort: HistorySort) => {
  const desk = useDesk();
  const queries = useQueryClient();
  const [behind, setBehind] = useState(false);
  const query = useInfiniteQuery({
    queryKey: ["history", filter, sort],
    initialPageParam: null as HistoryCursor | null,
    queryFn: ({ pageParam }) => desk.call("history_page", { filter, sort, after: pageParam }),
    getNextPageParam: (page) => page.next,
    placeholderData: (before) => before,
    staleTime: 0,
  });
  const { refetch } = query;
  // What happens to requests changes their lines.
  useEffect(() => {
    const again = gather(async () => {
      // What is read already may be older than the news; it is not broken off: where they do not cease nothing would
      // ever be read.
      if (queries.isFetching({ queryKey: ["history", filter, sort], exact: true }) > 0)
        await refetch({ cancelRefetch: false });
      await refetch({ cancelRefetch: false });
      setBehind(false);
    }, GATHER_MS);
    const leave = desk.onTouched(() => {
      setBehind(true);
      again.tell();
    });
    return () => {
      leave();
      again.stop();
      // Another filter is read anew automatically.
      setBehind(false);
    };
  }, [desk, filter, queries, refetch, sort]);
  return { query, behind };
};

const RECOUNT_MS = 5_000;
/** A count that was not finished takes long each time. */
const RECOUNT_LONG_MS = 30_000;

/** How many requests pass the filter, in words; null while that is not known. */
const useCount = (
  filter: HistoryFilterView,
  { data, hasNextPage, isPlaceholderData }: ReturnType<typeof useHistory>["query"],
): string | null => {
  const desk = useDesk();
  const listed =
    data === undefined || isPlaceholderData || hasNextPage
      ? null
      : data.pages.reduce((sum, page) => sum + page.rows.length, 0);
  const counted = useQuery({
    queryKey: ["history-count", filter],
    queryFn: () => desk.call("history_count", filter),
    enabled: hasNextPage && !isPlaceholderData,
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.whole === false ? RECOUNT_LONG_MS : RECOUNT_MS),
  });
  const count = listed ?? counted.data?.requests ?? null;
  if (count === null) return null;
  const more = listed === null && counted.data?.whole === false ? "more than " : "";
  return `${more}${count.toLocaleString("en")} ${count === 1 ? "request" : "requests"}`;
};

/** The filter: the one that the screen was opened for, until the operator changes it, or the one that was left. */
const useFilter = () => {
  const navigate = useNavigate();
  const { ws, rule, find } = useSearch({ from: "/history" });
  const own = useStore(ownFilter);
  // The same ones as long as the address says the same: what is read hangs on them.
  const asked = useMemo(
    () => find ?? (rule === undefined ? undefined : { workspace: ws ?? null, rule }),
    [find, rule, ws],
  );
  const filter = useMemo<HistoryFilterView>(
    () => (asked === undefined ? own : { ...EVERYTHING, ...asked }),
    [asked, own],
  );
  const change = (next: HistoryFilterView): void => {
    ownFilter.set(next);
    if (asked !== undefined) void navigate({ to: "/history", search: {}, replace: true });
  };
  return { filter, asked, change };
};

/** Every request ever, searched by words and filters. */
export const HistoryScreen = () => {
  const navigate = useNavigate();
  const router = useRouter();
  const { filter, asked, change: setFilter } = useFilter();
  const wanted = useDeferredValue(filter);
  const sort = useStore(ownSort);
  const { query, behind } = useHistory(wanted, sort);
  const exporting = useExport();
  const count = useCount(wanted, query);
  const rows = query.data?.pages.flatMap((page) => page.rows) ?? [];
  const unindexed = query.data?.pages[0]?.unindexed ?? 0;
  const { row: chosen, choose, at } = useChosen(rows, leftAt.get());
  const move = (step: 1 | -1): void => {
    const next = at(step);
    if (next === undefined) return;
    leftAt.set(next.key);
    choose(next.key);
  };
  const open = (key: string | undefined): void => {
    if (key === undefined) return;
    leftAt.set(key);
    void navigate({ to: "/history/request", search: asked === undefined ? { key } : { key, find: asked } });
  };
  useCommand("next", () => {
    move(1);
  });
  useCommand("previous", () => {
    move(-1);
  });
  useCommand(
    "choose",
    () => {
      open(chosen?.key);
    },
    rows.length > 0,
  );
  const back = (): void => {
    router.history.back();
  };
  useCommand("back", back, asked !== undefined);
  return (
    <main className="flex min-h-0 min-w-0 flex-1 flex-col narrow:block narrow:overflow-auto" aria-label="History">
      <header className="border-b border-line px-5 pt-3 pb-2.5">
        <div className="mb-2.5 flex items-center gap-3 max-[900px]:flex-wrap">
          <h1 className="m-0 text-[15px] font-semibold">History</h1>
          <span className="whitespace-nowrap text-text-3" data-testid="history-count">
            {count === null ? "" : `${count}, `}
            {wordsOf(sort)}
          </span>
          {asked === undefined ? null : (
            <Button tone="quiet" className="-my-1 !py-1" onClick={back}>
              Back <Kbd command="back" />
            </Button>
          )}
          <FilterField
            label="Search the words of requests"
            placeholder='Search: all words, "a phrase", beginning*'
            value={filter.text}
            onChange={(text) => {
              setFilter({ ...filter, text });
            }}
            className="ml-auto w-[420px] min-w-0 max-w-full"
          />
          <Searches filter={filter} onChoose={setFilter} />
          <ExportMenu of={exporting} filter={wanted} count={count} />
        </div>
        <FilterBar filter={filter} onChange={setFilter} />
      </header>
      <ExportBar of={exporting} />
      <Failed error={query.error} className="px-5" />
      {unindexed > 0 ? (
        <p role="status" className="m-0 border-b border-warn-line bg-warn-bg px-5 py-1.5 text-warn-text">
          {unindexed.toLocaleString("en")} requests are not indexed yet, so this search may miss them.
        </p>
      ) : null}
      {rows.length === 0 && query.hasNextPage !== true ? (
        <div className="grid flex-1 place-items-center text-text-3" data-testid="history-empty">
          {query.isPending || query.isFetching || behind
            ? "Reading…"
            : query.error !== null
              ? ""
              : isNarrow(filter)
                ? "No request matches this filter."
                : "No requests on this bus yet."}
        </div>
      ) : (
        <div className="flex min-h-0 flex-1 flex-col narrow:h-[80vh]">
          <HistoryList
            rows={rows}
            sort={sort}
            onSort={(by) => {
              ownSort.set(sortedBy(sort, by));
            }}
            chosen={chosen?.key ?? null}
            onOpen={open}
            onEnd={() => {
              if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage();
            }}
          />
        </div>
      )}
    </main>
  );
};
