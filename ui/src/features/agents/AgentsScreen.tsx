import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { ListBeside } from "../../components/ListBeside";
import { useDesk } from "../../desk/DeskContext";
import { AgentDetail } from "./AgentDetail";
import { AgentList } from "./AgentList";
import { fits } from "./agents";

/** Presence changes without a request: the list is read again after this time. */
const AGAIN_MS = 3_000;

/** Who is there, with which tools, and what holds them back. */
export const AgentsScreen = () => {
  const desk = useDesk();
  const { agent: start } = useSearch({ from: "/agents" });
  const { data, error, isPending } = useQuery({
    queryKey: ["agents"],
    queryFn: () => desk.call("agents_list", {}),
    refetchInterval: AGAIN_MS,
    staleTime: 0,
  });
  const all = data?.agents ?? [];
  return (
    <ListBeside
      title="Agents"
      name="agents"
      hint="name, framework, tool"
      all={all}
      start={start ?? null}
      fits={fits}
      pending={isPending}
      error={error}
      count={`${all.filter((other) => other.presence === "live").length} live of ${all.length}`}
      empty="No agent is known yet. The empty inbox says how to connect one."
      renderList={({ rows, chosen, onChoose }) => <AgentList agents={rows} chosen={chosen} onChoose={onChoose} />}
      renderDetail={(agent) => <AgentDetail key={agent.key} agent={agent} nowMs={data?.serverMs ?? 0} />}
    />
  );
};
