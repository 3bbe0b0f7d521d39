import { AgentKey } from "../../components/AgentKey";
import { ShownText } from "../../components/ShownText";
import { useVirtualRows } from "../../components/virtualRows";
import type { AgentPresence, AgentView } from "../../ipc/generated";
import { troubles } from "./agents";

const ROW_PX = 68;
const DOT: Record<AgentPresence, string> = { live: "border-ok bg-ok", silent: "border-text-3", unheard: "border-dashed border-text-3" };
const PRESENCE: Record<AgentPresence, string> = { live: "live", silent: "silent", unheard: "never heard" };

const Row = ({ agent }: { readonly agent: AgentView }) => {
  const wrong = troubles(agent);
  return (
    <>
      <span className="flex min-w-0 items-center gap-2">
        <span aria-hidden="true" className={`size-2 shrink-0 rounded-full border-[1.5px] ${DOT[agent.presence]}`} />
        <span className="min-w-0 font-mono text-[12.5px] font-semibold"><AgentKey of={agent.key} /></span>
      </span>
      {agent.brake === null ? <span className="text-right text-[11.5px] text-text-3">{PRESENCE[agent.presence]}</span> : (
        <b className={`text-right text-[11.5px] font-semibold ${agent.brake.stopped ? "text-bad" : "text-warn"}`}>{agent.brake.stopped ? "stopped" : "paused"}</b>
      )}
      <span className="truncate text-text-2">{agent.framework === null ? "framework unknown" : <ShownText text={agent.framework} />}, {agent.tools.length} {agent.tools.length === 1 ? "tool" : "tools"}</span>
      <span className="text-right text-[11.5px] text-text-2">{agent.waiting > 0 ? `${agent.waiting} waiting` : ""}</span>
      <span className="col-span-2 truncate text-[11.5px] text-warn">{wrong.join(" · ")}</span>
    </>
  );
};

interface AgentListProps {
  readonly agents: readonly AgentView[];
  readonly chosen: string | null;
  readonly onChoose: (key: string) => void;
}

const optionId = (key: string): string => `agent-${key}`;

export const AgentList = ({ agents, chosen, onChoose }: AgentListProps) => {
  const { scroller, height, rows: drawn } = useVirtualRows({ keys: agents.map((agent) => agent.key), rowPx: ROW_PX, overscan: 8, cursor: chosen });
  return (
    <div
      ref={scroller} className="min-h-0 flex-1 overflow-auto" role="listbox" tabIndex={0} aria-label="Agents"
      {...(chosen === null ? {} : { "aria-activedescendant": optionId(chosen) })}
    >
      <div className="relative" role="presentation" style={{ height }}>
        {drawn.map(({ index, start }) => {
          const agent = agents[index];
          if (agent === undefined) return null;
          const selected = agent.key === chosen;
          return (
            // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the list has the keys
            <div
              key={agent.key} id={optionId(agent.key)} role="option" aria-selected={selected} aria-posinset={index + 1} aria-setsize={agents.length}
              data-testid="agent-row" data-key={agent.key} data-presence={agent.presence}
              className={`row-line absolute top-0 left-0 grid h-[68px] w-full grid-cols-[minmax(0,1fr)_auto] content-center gap-x-2 border-l-[3px] pr-3.5 pl-[11px] ${selected ? "border-l-accent bg-raised" : "border-l-transparent hover:bg-panel"}`}
              style={{ transform: `translateY(${start}px)` }} onClick={() => { onChoose(agent.key); }}
            >
              <Row agent={agent} />
            </div>
          );
        })}
      </div>
    </div>
  );
};
