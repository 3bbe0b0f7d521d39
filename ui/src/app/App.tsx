import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useState } from "react";
import { CommandProvider } from "../commands/CommandContext";
import { createDesk } from "../desk/desk";
import { DeskProvider } from "../desk/DeskContext";
import type { Transport } from "../ipc/transport";
import { ErrorBoundary } from "./ErrorBoundary";
import { createDeskRouter } from "./router";

const createQueries = (): QueryClient =>
  new QueryClient({
    // Everything is local and news arrives unasked: no guessing when to read again.
    defaultOptions: {
      queries: {
        networkMode: "always",
        staleTime: 30_000,
        gcTime: 60_000,
        retry: 1,
        retryDelay: 300,
        refetchOnWindowFocus: false,
      },
    },
  });

export const App = ({ transport }: { readonly transport: Transport }) => {
  const [desk] = useState(() => createDesk(transport));
  const [queries] = useState(createQueries);
  const [router] = useState(createDeskRouter);
  return (
    <ErrorBoundary>
      <QueryClientProvider client={queries}>
        <DeskProvider desk={desk}>
          <CommandProvider>
            <RouterProvider router={router} />
          </CommandProvider>
        </DeskProvider>
      </QueryClientProvider>
    </ErrorBoundary>
  );
};
