/** What the Agents screen says of an agent. Pure. */
import { plainText } from "../../components/shown";
import { everyWordIn } from "../../components/words";
import type { AgentToolView, AgentView } from "../../ipc/generated";

/** Whether an agent fits what was typed: every word must occur in its name, framework or tools. */
export const fits = (agent: AgentView, filter: string): boolean => {
  const parts = [
    agent.key,
    agent.presence,
    ...[agent.framework, agent.kind, ...agent.tools.map((tool) => tool.name)].map((text) =>
      text === null ? "" : plainText(text),
    ),
  ];
  return everyWordIn(parts.join(" "), filter);
};

/** Tools that a person should look at, counted once each. */
const faultyTools = (agent: AgentView): readonly AgentToolView[] =>
  agent.tools.filter((tool) => tool.changed || !tool.gated || tool.strictFaults.length > 0 || tool.looksLike !== null);

/** More than one copy that is heard: calls may come from either. */
const liveCopies = (agent: AgentView): number => agent.instances.filter((instance) => instance.live).length;

/** What is wrong with an agent, as short words for the list. */
export const troubles = (agent: AgentView): readonly string[] => {
  const found: string[] = [];
  if (agent.gate?.open) found.push("gate open");
  const tools = faultyTools(agent).length;
  const missing = agent.credentials.filter((credential) => credential.missingKeys.length > 0).length;
  if (agent.helloFault !== null || agent.faults.length > 0) found.push("hello partly unreadable");
  if (tools > 0) found.push(`${tools} ${tools === 1 ? "tool" : "tools"} to look at`);
  if (missing > 0) found.push(`${missing} ${missing === 1 ? "credential" : "credentials"} missing`);
  if (liveCopies(agent) > 1) found.push(`${liveCopies(agent)} instances`);
  return found;
};
