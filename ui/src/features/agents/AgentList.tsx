import { AgentKey } from "../../components/AgentKey";
import { ShownText } from "../../components/ShownText";
import { VirtualList } from "../../components/VirtualList";
import type { AgentPresence, AgentView } from "../../ipc/generated";
import { troubles } from "./agents";

const ROW_PX = 68;
const DOT: Record<AgentPresence, string> = {
  live: "border-ok bg-ok",
  silent: "border-text-3",
  unheard: "border-dashed border-text-3",
};
const PRESENCE: Record<AgentPresence, string> = { live: "live", silent: "silent", unheard: "never heard" };

const Row = ({ agent }: { readonly agent: AgentView }) => {
  const wrong = troubles(agent);
  return (
    <>
      <span className="flex min-w-0 items-center gap-2">
        <span aria-hidden="true" className={`size-2 shrink-0 rounded-full border-[1.5px] ${DOT[agent.presence]}`} />
        <span className="min-w-0 font-mono text-[12.5px] font-semibold">
          <AgentKey of={agent.key} />
        </span>
      </span>
      {agent.brake === null ? (
        <span className="text-right text-[11.5px] text-text-3">{PRESENCE[agent.presence]}</span>
      ) : (
        <b className={`text-right text-[11.5px] font-semibold ${agent.brake.stopped ? "text-bad" : "text-warn"}`}>
          {agent.brake.stopped ? "stopped" : "paused"}
        </b>
      )}
      <span className="truncate text-text-2">
        {agent.framework === null ? "framework unknown" : <ShownText text={agent.framework} />}
        {`, ${agent.tools.length} ${agent.tools.length === 1 ? "tool" : "tools"}`}
      </span>
      <span className="text-right text-[11.5px] text-text-2">
        {agent.waiting > 0 ? `${agent.waiting} waiting` : ""}
      </span>
      <span className="col-span-2 truncate text-[11.5px] text-warn">{wrong.join(" · ")}</span>
    </>
  );
};

interface AgentListProps {
  readonly agents: readonly AgentView[];
  readonly chosen: string | null;
  readonly onChoose: (key: string) => void;
}

const nameOf = (agent: AgentView): string => agent.key;
const marks = (agent: AgentView) => ({
  "data-testid": "agent-row",
  "data-key": agent.key,
  "data-presence": agent.presence,
});
const draw = (agent: AgentView) => <Row agent={agent} />;

export const AgentList = ({ agents, chosen, onChoose }: AgentListProps) => (
  <VirtualList
    label="Agents"
    rows={agents}
    nameOf={nameOf}
    rowPx={ROW_PX}
    look="grid grid-cols-[minmax(0,1fr)_auto] content-center gap-x-2 pr-3.5 pl-[11px]"
    marks={marks}
    renderRow={draw}
    chosen={chosen}
    onChoose={onChoose}
  />
);
