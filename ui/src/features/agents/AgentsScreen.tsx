import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { useCommand } from "../../commands/CommandContext";
import { Kbd } from "../../components/Kbd";
import { useDesk } from "../../desk/DeskContext";
import type { AgentView } from "../../ipc/generated";
import { toCallError } from "../../ipc/transport";
import { AgentDetail } from "./AgentDetail";
import { AgentList } from "./AgentList";
import { fits } from "./agents";

/** Presence changes without a request: the list is read again after this time. */
const AGAIN_MS = 3_000;

/** Who is there, with which tools, and what holds them back. */
export const AgentsScreen = () => {
  const desk = useDesk();
  const { data, error, isPending } = useQuery({
    queryKey: ["agents"], queryFn: () => desk.call("agents_list", {}), refetchInterval: AGAIN_MS, staleTime: 0,
  });
  const [chosen, setChosen] = useState<string | null>(null);
  const [filter, setFilter] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const all = data?.agents ?? [];
  const agents = all.filter((agent) => fits(agent, filter));
  const place = Math.max(agents.findIndex((agent) => agent.key === chosen), 0);
  const agent: AgentView | undefined = agents[place];
  const move = (step: 1 | -1): void => { setChosen(agents[Math.min(Math.max(place + step, 0), agents.length - 1)]?.key ?? null); };
  useCommand("next", () => { move(1); });
  useCommand("previous", () => { move(-1); });
  useCommand("filter", () => { field.current?.focus(); });
  return (
    <div className="grid min-h-0 min-w-0 flex-1 grid-cols-[372px_minmax(0,1fr)] grid-rows-[minmax(0,1fr)]">
      <section className="flex min-h-0 flex-col border-r border-line" aria-label="Agents">
        <header className="flex items-baseline gap-2 px-3.5 pt-3 pb-2">
          <h1 className="m-0 text-[15px] font-semibold">Agents</h1>
          <span className="text-text-3" data-testid="agents-count">{all.filter((other) => other.presence === "live").length} live of {all.length}</span>
        </header>
        <label className="mx-3.5 mb-2 flex items-center rounded-[7px] border border-line bg-panel px-2.5 py-[5px] focus-within:border-accent">
          <span className="sr-only">Filter</span>
          <input
            ref={field} className="min-w-0 flex-1 bg-transparent outline-none" placeholder="Filter: name, framework, tool…" value={filter} spellCheck={false}
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
        {all.length > 0 && agents.length === 0 ? <p className="px-3.5 text-text-3">No agent fits the filter. Esc clears it.</p> : null}
        <AgentList agents={agents} chosen={agent?.key ?? null} onChoose={setChosen} />
      </section>
      <main className="flex min-h-0 min-w-0 flex-col">
        {error === null ? null : <p role="alert" className="px-7 text-bad">{toCallError(error).message}</p>}
        {agent === undefined ? (
          <div className="grid flex-1 place-items-center text-text-3" data-testid="agents-empty">
            {isPending ? "Reading…" : all.length > 0 ? "" : "No agent is known yet. The empty inbox says how to connect one."}
          </div>
        ) : <AgentDetail key={agent.key} agent={agent} nowMs={data?.serverMs ?? 0} />}
      </main>
    </div>
  );
};
