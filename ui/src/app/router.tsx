import { createHashHistory, createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import { AgentsScreen } from "../features/agents/AgentsScreen";
import { filterOf } from "../features/history/filter";
import { HistoryScreen } from "../features/history/HistoryScreen";
import { StoryScreen } from "../features/history/StoryScreen";
import { InboxScreen } from "../features/inbox/InboxScreen";
import { OperatorsScreen } from "../features/operators/OperatorsScreen";
import { OverviewScreen } from "../features/overview/OverviewScreen";
import { RejectedScreen } from "../features/rejected/RejectedScreen";
import { SettingsScreen } from "../features/settings/SettingsScreen";
import { SetupScreen } from "../features/setup/SetupScreen";
import { MatrixScreen } from "../features/rules/MatrixScreen";
import { RulesScreen } from "../features/rules/RulesScreen";
import { TraceScreen } from "../features/traces/TraceScreen";
import { TracesScreen } from "../features/traces/TracesScreen";
import type { HistoryFilterView } from "../ipc/generated";
import { Shell } from "./Shell";

const word = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

const optional = <N extends string>(search: Record<string, unknown>, name: N): Partial<Record<N, string>> => {
  const value = word(search[name]);
  return value === null ? {} : ({ [name]: value } as Record<N, string>);
};

/** A request that the screen was opened for, where the address names one. */
const named = (search: Record<string, unknown>, name: "card"): { card?: string } => {
  const card = word(search[name]);
  return card === null ? {} : { card };
};

/** What the history was opened for. */
const found = (search: Record<string, unknown>): { find?: Partial<HistoryFilterView> } => {
  const find = filterOf(search["find"]);
  return find === null ? {} : { find };
};

const root = createRootRoute({ component: Shell });
const inbox = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: InboxScreen,
  validateSearch: (search): { card?: string } => named(search, "card"),
});
const rejected = createRoute({ getParentRoute: () => root, path: "/rejected", component: RejectedScreen });

const traces = createRoute({ getParentRoute: () => root, path: "/traces", component: TracesScreen });
const trace = createRoute({
  getParentRoute: () => root,
  path: "/traces/tree",
  component: TraceScreen,
  validateSearch: (search): { key: string; card?: string } => ({
    key: word(search["key"]) ?? "",
    ...named(search, "card"),
  }),
});

const agents = createRoute({
  getParentRoute: () => root,
  path: "/agents",
  component: AgentsScreen,
  validateSearch: (search): { agent?: string } => optional(search, "agent"),
});

const operators = createRoute({ getParentRoute: () => root, path: "/operators", component: OperatorsScreen });

const rules = createRoute({
  getParentRoute: () => root,
  path: "/rules",
  component: RulesScreen,
  validateSearch: (search): { ws?: string; id?: string } => ({ ...optional(search, "ws"), ...optional(search, "id") }),
});
const matrix = createRoute({
  getParentRoute: () => root,
  path: "/rules/matrix",
  component: MatrixScreen,
  validateSearch: (search): { ws?: string } => optional(search, "ws"),
});

const history = createRoute({
  getParentRoute: () => root,
  path: "/history",
  component: HistoryScreen,
  validateSearch: (search): { ws?: string; rule?: string; find?: Partial<HistoryFilterView> } => ({
    ...optional(search, "ws"),
    ...optional(search, "rule"),
    ...found(search),
  }),
});
const story = createRoute({
  getParentRoute: () => root,
  path: "/history/request",
  component: StoryScreen,
  validateSearch: (search): { key: string; find?: Partial<HistoryFilterView> } => ({
    key: word(search["key"]) ?? "",
    ...found(search),
  }),
});

const overview = createRoute({ getParentRoute: () => root, path: "/overview", component: OverviewScreen });

const setup = createRoute({ getParentRoute: () => root, path: "/setup", component: SetupScreen });
const settings = createRoute({ getParentRoute: () => root, path: "/settings", component: SettingsScreen });

export const createDeskRouter = () =>
  createRouter({
    routeTree: root.addChildren([
      inbox,
      rejected,
      traces,
      trace,
      agents,
      operators,
      rules,
      matrix,
      history,
      story,
      overview,
      setup,
      settings,
    ]),
    history: createHashHistory(),
  });

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createDeskRouter>;
  }
}
