import { createHashHistory, createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import { AgentsScreen } from "../features/agents/AgentsScreen";
import { InboxScreen } from "../features/inbox/InboxScreen";
import { RejectedScreen } from "../features/rejected/RejectedScreen";
import { TraceScreen } from "../features/traces/TraceScreen";
import { TracesScreen } from "../features/traces/TracesScreen";
import { Shell } from "./Shell";

const word = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

/** A request that the screen was opened for, where the address names one. */
const named = (search: Record<string, unknown>, name: "card"): { card?: string } => {
  const card = word(search[name]);
  return card === null ? {} : { card };
};

const root = createRootRoute({ component: Shell });
const inbox = createRoute({ getParentRoute: () => root, path: "/", component: InboxScreen, validateSearch: (search): { card?: string } => named(search, "card") });
const rejected = createRoute({ getParentRoute: () => root, path: "/rejected", component: RejectedScreen });

const traces = createRoute({ getParentRoute: () => root, path: "/traces", component: TracesScreen });
const trace = createRoute({
  getParentRoute: () => root, path: "/traces/tree", component: TraceScreen,
  validateSearch: (search): { key: string; card?: string } => ({ key: word(search["key"]) ?? "", ...named(search, "card") }),
});

const agents = createRoute({ getParentRoute: () => root, path: "/agents", component: AgentsScreen });

export const createDeskRouter = () =>
  createRouter({ routeTree: root.addChildren([inbox, rejected, traces, trace, agents]), history: createHashHistory() });

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createDeskRouter>;
  }
}
