import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { useCommand } from "../../commands/CommandContext";
import { Kbd } from "../../components/Kbd";
import { useDesk } from "../../desk/DeskContext";
import { toCallError } from "../../ipc/transport";
import { useAllDrafts } from "./draftStore";
import { fits } from "./drafts";
import { SetupList } from "./SetupList";
import { SetupPane } from "./SetupPane";

const AGAIN_MS = 3_000;

/** What agents let people set, and which values spare a question. */
export const SetupScreen = () => {
  const desk = useDesk();
  const { data, error, isPending } = useQuery({ queryKey: ["setups"], queryFn: () => desk.call("setup_list", {}), refetchInterval: AGAIN_MS, staleTime: 0 });
  const unsaved = new Set(Object.keys(useAllDrafts()));
  const [chosen, setChosen] = useState<string | null>(null);
  const [filter, setFilter] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const all = data?.agents ?? [];
  const lines = all.filter((line) => fits(line, filter));
  // At first the agent that has something to set.
  const first = lines.find((line) => line.keys !== 0) ?? lines[0];
  const shown = lines.find((line) => line.key === chosen) ?? first;
  const move = (step: 1 | -1): void => {
    const place = lines.findIndex((line) => line.key === shown?.key);
    setChosen(lines[Math.min(Math.max(place + step, 0), lines.length - 1)]?.key ?? null);
  };
  useCommand("next", () => { move(1); });
  useCommand("previous", () => { move(-1); });
  useCommand("filter", () => { field.current?.focus(); });
  return (
    <div className="grid min-h-0 min-w-0 flex-1 grid-cols-[372px_minmax(0,1fr)] grid-rows-[minmax(0,1fr)]">
      <section className="flex min-h-0 flex-col border-r border-line" aria-label="Setup">
        <header className="flex items-baseline gap-2 px-3.5 pt-3 pb-2">
          <h1 className="m-0 text-[15px] font-semibold">Setup</h1>
          <span className="text-text-3" data-testid="setup-count">{all.filter((line) => line.keys !== 0).length} of {all.length} {all.length === 1 ? "agent" : "agents"} declare keys</span>
        </header>
        <label className="mx-3.5 mb-2 flex items-center rounded-[7px] border border-line bg-panel px-2.5 py-[5px] focus-within:border-accent">
          <span className="sr-only">Filter</span>
          <input
            ref={field} className="min-w-0 flex-1 bg-transparent outline-none" placeholder="Filter: workspace, agent…" value={filter} spellCheck={false}
            onChange={(event) => { setFilter(event.target.value); }}
            onKeyDown={(event) => {
              if (event.key !== "Escape" && event.key !== "Enter") return;
              if (event.key === "Escape") setFilter("");
              event.preventDefault();
              event.currentTarget.blur();
            }}
          />
          <Kbd command="filter" />
        </label>
        {all.length > 0 && lines.length === 0 ? <p className="px-3.5 text-text-3">No agent fits the filter. Esc clears it.</p> : null}
        <SetupList lines={lines} chosen={shown?.key ?? null} unsaved={unsaved} onChoose={setChosen} />
      </section>
      <main className="flex min-h-0 min-w-0 flex-col">
        {error === null ? null : <p role="alert" className="px-7 text-bad">{toCallError(error).message}</p>}
        {shown === undefined ? (
          <div className="grid flex-1 place-items-center text-text-3" data-testid="setup-empty">
            {isPending ? "Reading…" : all.length > 0 ? "" : "No agent is known yet. The empty inbox says how to connect one."}
          </div>
        ) : <SetupPane key={shown.key} agent={shown.key} />}
      </main>
    </div>
  );
};
