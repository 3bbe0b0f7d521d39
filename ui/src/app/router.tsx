import { createHashHistory, createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import { InboxScreen } from "../features/inbox/InboxScreen";
import { RejectedScreen } from "../features/rejected/RejectedScreen";
import { Shell } from "./Shell";

const root = createRootRoute({ component: Shell });
const inbox = createRoute({ getParentRoute: () => root, path: "/", component: InboxScreen });
const rejected = createRoute({ getParentRoute: () => root, path: "/rejected", component: RejectedScreen });

export const createDeskRouter = () =>
  createRouter({ routeTree: root.addChildren([inbox, rejected]), history: createHashHistory() });

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createDeskRouter>;
  }
}
