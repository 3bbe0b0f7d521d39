import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useCommand } from "../../commands/CommandContext";
import { RawBytes } from "../../components/RawBytes";
import { RawDialog } from "../../components/RawDialog";
import { ShownText } from "../../components/ShownText";
import { useChosen } from "../../components/useChosen";
import { Moment } from "../../components/Moment";
import { useDesk, useStatus } from "../../desk/DeskContext";
import { gather } from "../../desk/gather";
import type { RejectedRow } from "../../ipc/generated";
import { meaningOf } from "./codes";
import { RejectedList } from "./RejectedList";
import { LIST_AND_DETAIL, Region } from "../../components/Region";
import { Failed } from "../../components/Failed";

const KEY = ["rejected"];
/** Messages that come one after the other are read together. */
const GATHER_MS = 400;

const useRejected = () => {
  const desk = useDesk();
  const queries = useQueryClient();
  const count = useStatus()?.rejected ?? 0;
  const query = useInfiniteQuery({
    queryKey: KEY,
    initialPageParam: null as number | null,
    queryFn: ({ pageParam }) => desk.call("rejected_list", { before: pageParam }),
    getNextPageParam: (page) => page.next,
  });
  const { refetch } = query;
  const again = useRef<(() => void) | null>(null);
  useEffect(() => {
    // What is read already may be older than the news; it is not broken off: where they do not cease nothing would ever
    // be read.
    const { tell, stop } = gather(async () => {
      if (queries.isFetching({ queryKey: KEY, exact: true }) > 0) await refetch({ cancelRefetch: false });
      await refetch({ cancelRefetch: false });
    }, GATHER_MS);
    again.current = tell;
    return stop;
  }, [queries, refetch]);
  useEffect(() => {
    again.current?.();
  }, [count]);
  return query;
};

const Detail = ({ row }: { readonly row: RejectedRow }) => {
  const desk = useDesk();
  const [raw, setRaw] = useState(false);
  const { data, error } = useQuery({
    queryKey: ["rejected", row.key, row.atMs],
    queryFn: () => desk.call("rejected_detail", { key: row.key }),
  });
  useCommand("raw", () => {
    setRaw(true);
  });
  return (
    <Region label="Rejected message" testId="rejected-detail" className="flex-1">
      <header className="border-b border-line px-7 pt-[18px] pb-3.5">
        <div className="mb-1.5 text-xs text-text-3">
          This message can never be approved. Its bytes are kept and audited
          {data?.answered === true ? ", and the agent was informed." : "."}
        </div>
        <h2 className="selectable m-0 font-mono text-xl/tight font-semibold">{row.code}</h2>
        <p className="mt-2 mb-0 max-w-[760px] text-[14.5px]">{meaningOf(row.code)}</p>
      </header>
      <div className="px-7 py-[18px]">
        <h3>Where</h3>
        <dl className="selectable m-0 mb-5 grid grid-cols-[92px_minmax(0,1fr)] gap-x-2 gap-y-[5px]">
          <dt className="text-text-3">Detail</dt>
          <dd className="m-0">
            <ShownText text={row.detail} block />
          </dd>
          <dt className="text-text-3">Subject</dt>
          <dd className="m-0 font-mono text-xs">
            {row.subject === null ? "Named no request" : <ShownText text={row.subject} />}
          </dd>
          <dt className="text-text-3">Stored</dt>
          <dd className="m-0">
            <Moment ms={row.atMs} exact />
          </dd>
          {data === undefined ? null : (
            <>
              <dt className="text-text-3">Stream</dt>
              <dd className="m-0 font-mono text-xs">#{data.streamSeq}</dd>
            </>
          )}
        </dl>
        <h3>Bytes as received</h3>
        <Failed error={error} />
        {data === undefined ? null : <RawBytes chunks={[data.raw]} />}
        {data?.raw.next == null ? null : (
          <button
            type="button"
            className="mt-3 rounded border border-line px-2 py-1 text-xs text-text-2"
            onClick={() => {
              setRaw(true);
            }}
          >
            All of it…
          </button>
        )}
      </div>
      {raw ? (
        <RawDialog
          command="rejected_raw"
          requestKey={row.key}
          onClose={() => {
            setRaw(false);
          }}
        />
      ) : null}
    </Region>
  );
};

/** Messages that were no requests: code, reason and bytes. Nothing here can be approved. */
export const RejectedScreen = () => {
  const query = useRejected();
  const total = useStatus()?.rejected ?? 0;
  const rows = query.data?.pages.flatMap((page) => page.rows) ?? [];
  // The newest comes first: what is read stays, whatever arrives above it.
  const { row, choose, at } = useChosen(rows);
  const move = (step: 1 | -1): void => {
    const next = at(step);
    if (next !== undefined) choose(next.key);
  };
  useCommand("next", () => {
    move(1);
  });
  useCommand("previous", () => {
    move(-1);
  });
  return (
    <div className={`${LIST_AND_DETAIL} grid-cols-[372px_minmax(0,1fr)] max-[900px]:grid-cols-[240px_minmax(0,1fr)]`}>
      <section className="flex min-h-0 flex-col border-r border-line" aria-label="Rejected">
        <header className="flex items-baseline gap-2 px-3.5 pt-3 pb-2">
          <h1 className="m-0 text-[15px] font-semibold">Rejected</h1>
          <span className="text-text-3">{total}</span>
          <span className="ml-auto text-text-3">newest first</span>
        </header>
        <RejectedList
          rows={rows}
          chosen={row?.key ?? null}
          onChoose={choose}
          onEnd={() => {
            if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage();
          }}
        />
      </section>
      <main className="flex min-h-0 min-w-0 flex-col" aria-label="Rejected">
        <Failed error={query.error} className="px-7" />
        {row === undefined ? (
          <div className="grid flex-1 place-items-center text-text-3">
            {query.isPending ? "Reading…" : "No message was rejected."}
          </div>
        ) : (
          <Detail key={row.key} row={row} />
        )}
      </main>
    </div>
  );
};
