/** The screen of the agents, as tests open it. */
import { render, screen } from "@testing-library/react";
import { fakeConsole, type FakeConsole } from "./fakeTransport";
import type { AgentView, StatusView } from "../src/ipc/generated";
import { App } from "../src/app/App";

export const open = async (agents: AgentView[], more: { status?: StatusView } = {}): Promise<FakeConsole> => {
  window.location.hash = "#/agents";
  const console = fakeConsole({
    ...more,
    answers: {
      agents_list: () => ({ agents, serverMs: 60_000 }),
      brake: () => ({ terminated: 0, waiting: null }),
      panic: () => ({ terminated: 0, waiting: null }),
    },
  });
  render(<App transport={console} />);
  await screen.findByTestId(agents.length > 0 ? "agent" : "agents-empty");
  return console;
};
export const controls = (): HTMLElement => screen.getByTestId("control-bar");
