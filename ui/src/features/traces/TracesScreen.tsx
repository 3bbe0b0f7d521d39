import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { useCommand } from "../../commands/CommandContext";
import { Kbd } from "../../components/Kbd";
import { useChosen } from "../../components/useChosen";
import { useDesk } from "../../desk/DeskContext";
import { TraceList } from "./TraceList";
import { Failed } from "../../components/Failed";

/** Spans change no request, so nothing announces them: the list is read again after this time. */
const AGAIN_MS = 3_000;

const useTraces = () => {
  const desk = useDesk();
  return useInfiniteQuery({
    queryKey: ["traces"],
    initialPageParam: null as number | null,
    queryFn: ({ pageParam }) => desk.call("traces_page", { before: pageParam }),
    getNextPageParam: (page) => page.next,
    refetchInterval: AGAIN_MS,
    staleTime: 0,
  });
};

/** Recent traces, the one last written to first. */
export const TracesScreen = () => {
  const query = useTraces();
  const navigate = useNavigate();
  const field = useRef<HTMLInputElement>(null);
  // A trace that is written to while a page is read may be on two of them.
  const seen = new Set<string>();
  const rows = (query.data?.pages.flatMap((page) => page.rows) ?? []).filter(
    (row) => !seen.has(row.key) && seen.add(row.key),
  );
  const { row: chosen, choose, at } = useChosen(rows);
  const move = (step: 1 | -1): void => {
    const next = at(step);
    if (next !== undefined) choose(next.key);
  };
  const open = (key: string | undefined): void => {
    if (key !== undefined) void navigate({ to: "/traces/tree", search: { key } });
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
  useCommand("filter", () => {
    field.current?.focus();
  });
  return (
    <main className="flex min-h-0 min-w-0 flex-1 flex-col" aria-label="Traces">
      <header className="flex min-h-[52px] items-center gap-3 border-b border-line px-5">
        <h1 className="m-0 text-[15px] font-semibold">Traces</h1>
        <span className="text-text-3">latest change first</span>
        <span className="flex-1" />
        <form
          className={`flex w-[340px] min-w-0 items-center rounded-[7px] border border-line bg-panel px-2.5 py-[5px]
            focus-within:border-accent`}
          onSubmit={(event) => {
            event.preventDefault();
            open(field.current?.value.trim() || undefined);
          }}
        >
          <label className="sr-only" htmlFor="trace-id">
            Trace id or request id
          </label>
          <input
            id="trace-id"
            ref={field}
            className="min-w-0 flex-1 bg-transparent outline-none"
            placeholder="Open a trace id or a request id"
            spellCheck={false}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              event.preventDefault();
              event.currentTarget.value = "";
              event.currentTarget.blur();
            }}
          />
          <Kbd command="filter" />
        </form>
      </header>
      <Failed error={query.error} className="px-5" />
      {rows.length === 0 ? (
        <div className="grid flex-1 place-items-center text-text-3" data-testid="traces-empty">
          {query.isPending ? (
            "Reading…"
          ) : (
            <div className="max-w-[560px] px-7 text-center">
              <p className="text-[15px] text-text-2">No agent has sent any spans yet.</p>
              <p>
                Spans of agents appear here as call trees. The adapters send them automatically; the SDK sends them with{" "}
                <code className="font-mono text-xs">gate.span(…)</code>.
              </p>
            </div>
          )}
        </div>
      ) : (
        <TraceList
          rows={rows}
          chosen={chosen?.key ?? null}
          onChoose={choose}
          onOpen={open}
          onEnd={() => {
            if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage();
          }}
        />
      )}
    </main>
  );
};
