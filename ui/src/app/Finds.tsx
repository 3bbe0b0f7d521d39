import { useQueries, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import type { ReactNode } from "react";
import { AgentKey } from "../components/AgentKey";
import { RiskBadge } from "../components/RiskBadge";
import { plainText } from "../components/shown";
import { ShownText } from "../components/ShownText";
import { everyWordIn } from "../components/words";
import { useDesk, useInboxRows } from "../desk/DeskContext";
import { fits } from "../features/agents/agents";
import { filterRows } from "../features/inbox/filter";

/** Of each kind: whoever sees more of them types on. */
const MOST = 8;

interface FindsProps {
  readonly search: string;
  readonly look: string;
  /** Closes the palette, then goes there. */
  readonly onGo: (go: () => void) => void;
}

/** Waiting calls, agents and rules in which every typed word occurs. Choosing one opens it and decides nothing. */
export const Finds = ({ search, look, onGo }: FindsProps) => {
  const desk = useDesk();
  const navigate = useNavigate();
  const calls = filterRows(useInboxRows(), search).slice(0, MOST);
  const { data: agents } = useQuery({ queryKey: ["agents"], queryFn: () => desk.call("agents_list", {}) });
  const rulesOf = (workspace: string | null) => ({
    queryKey: ["rules", workspace],
    queryFn: () => desk.call("rules_list", { workspace }),
  });
  const { data: own } = useQuery(rulesOf(null));
  const rules = useQueries({ queries: (own?.workspaces ?? []).map(rulesOf) }).flatMap(({ data }) =>
    (data?.rules ?? []).map((rule) => ({ ws: data?.workspace ?? "", rule })),
  );
  const line = (value: string, go: () => void, children: ReactNode) => (
    <Command.Item
      key={value}
      value={value}
      // What fits was chosen here: the list's own measure must not drop it.
      keywords={[search]}
      className={look}
      onSelect={() => {
        onGo(go);
      }}
    >
      {children}
    </Command.Item>
  );
  return (
    <>
      <Command.Group heading="Waiting calls">
        {calls.map((row) =>
          line(
            `call ${row.key}`,
            () => void navigate({ to: "/", search: { card: row.key } }),
            <>
              <span className="min-w-0 truncate">
                <b className="font-mono text-[12.5px] font-semibold">
                  <ShownText text={row.tool} />
                </b>{" "}
                <ShownText text={row.summary} />
              </span>
              <RiskBadge risk={row.risk} />
            </>,
          ),
        )}
      </Command.Group>
      <Command.Group heading="Agents">
        {(agents?.agents ?? [])
          .filter((agent) => fits(agent, search))
          .slice(0, MOST)
          .map((agent) =>
            line(
              `agent ${agent.key}`,
              () => void navigate({ to: "/agents", search: { agent: agent.key } }),
              <AgentKey of={agent.key} />,
            ),
          )}
      </Command.Group>
      <Command.Group heading="Rules">
        {rules
          .filter(({ rule }) => everyWordIn(`${rule.id} ${plainText(rule.name)} ${plainText(rule.about)}`, search))
          .slice(0, MOST)
          .map(({ ws, rule }) =>
            line(
              `rule ${ws}/${rule.id}`,
              () => void navigate({ to: "/rules", search: { ws, id: rule.id } }),
              <>
                <span className="min-w-0 truncate">
                  <ShownText text={rule.name} />
                </span>
                <span className="text-text-3">{rule.effect}</span>
              </>,
            ),
          )}
      </Command.Group>
    </>
  );
};
