import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/Button";
import { Failed } from "../../components/Failed";
import { useDesk } from "../../desk/DeskContext";
import type { ReaderFound, ReaderTried, ReaderView } from "../../ipc/generated";
import { Part } from "./Part";
import { nameOf, READER } from "./readers";
import { UseReader } from "./UseReader";

const goesTo = (reader: ReaderFound): string =>
  reader.outside === null ? "arguments stay on this machine" : `arguments leave this machine, to ${reader.outside}`;

const Line = ({ reader, onUse }: { readonly reader: ReaderFound; readonly onUse: () => void }) => (
  <li className="row-line flex flex-wrap items-baseline gap-x-4 gap-y-1 py-2 last:border-0">
    <span className="w-28 font-semibold">{nameOf(reader)}</span>
    <span className="min-w-0 flex-1 text-text-3">{reader.place === null ? "not found" : goesTo(reader)}</span>
    {reader.place === null ? null : (
      <Button aria-label={`Use ${nameOf(reader)}`} onClick={onUse}>
        Use…
      </Button>
    )}
  </li>
);

const worth = (of: ReaderView): string =>
  `${of.asked} calls were sent, ${of.failed} failed, ${of.skipped} were skipped. It marked ${of.marked}; people denied ` +
  `${of.markedDenied} of them. Of the ${of.looked} calls with a mark of the console’s own they denied ${of.lookedDenied}.`;

const result = (of: ReaderTried): string =>
  of.why === null
    ? `${of.found} of ${of.of} bad cards were marked at the place, and ${of.falseMarks} of ${of.ofGood} good ones; ` +
      `${(of.seconds ?? 0).toFixed(1)} s in the middle.`
    : `${of.failed} of ${of.of + of.ofGood} cards failed: ${of.why}.`;

/** A program or model that reads waiting calls and may add marks: where arguments go, and what it is worth here. */
export const ReaderSettings = () => {
  const desk = useDesk();
  const client = useQueryClient();
  const [chosen, setChosen] = useState<ReaderFound | null>(null);
  const { data, error } = useQuery({ queryKey: READER, queryFn: () => desk.call("reader", {}), staleTime: 0 });
  const readers = useQuery({
    queryKey: ["readers_found"],
    queryFn: () => desk.call("readers_found", {}),
    staleTime: 0,
  });
  const stop = useMutation({
    mutationFn: () => desk.call("stop_reader", {}),
    onSuccess: (now) => client.setQueryData(READER, now),
  });
  const attempt = useMutation({ mutationFn: () => desk.call("try_reader", {}) });
  return (
    <Part title="A second reader" from="takes effect within 2 s; audited">
      <Failed error={error ?? readers.error ?? stop.error ?? attempt.error} />
      {data === undefined ? null : (
        <div data-testid="setting-reader">
          <p className="mt-0 mb-2" role="status" data-testid="reader-state">
            {data.fault === null
              ? (data.sentence ?? "No second reader is on.")
              : `It is off: config.toml, ${data.fault}`}
            {data.lastError === null ? "" : ` The last failure: ${data.lastError}.`}
          </p>
          {data.asked === 0 ? null : <p className="mt-0 mb-2 text-text-3">{worth(data)}</p>}
          {data.sentence === null ? null : (
            <div className="mb-3 flex flex-wrap items-center gap-2.5">
              <Button
                disabled={attempt.isPending}
                onClick={() => {
                  attempt.mutate();
                }}
              >
                {attempt.isPending ? "Asking about 12 made-up cards…" : "Try it"}
              </Button>
              <Button
                onClick={() => {
                  stop.mutate();
                }}
              >
                Stop using it
              </Button>
              {attempt.data === undefined ? null : (
                <span role="status" data-testid="reader-tried">
                  {result(attempt.data)}
                </span>
              )}
            </div>
          )}
          <ul className="m-0 list-none p-0" aria-label="Known readers">
            {(readers.data?.found ?? []).map((reader) => (
              <Line
                key={reader.name}
                reader={reader}
                onUse={() => {
                  setChosen(reader);
                }}
              />
            ))}
          </ul>
          <p className="mt-1.5 mb-0 text-[11.5px] text-text-3">
            It may add marks to cards. It approves, denies and delays nothing. A reader of another maker than the
            agent’s is the better one.
          </p>
          {chosen === null ? null : (
            <UseReader
              reader={chosen}
              workspaces={data.workspaces}
              onClose={() => {
                setChosen(null);
              }}
            />
          )}
        </div>
      )}
    </Part>
  );
};
