/** Whether an approval can be sent now. Refuses one on what may have been decided while nobody here was connected. */
import type { CallError } from "../ipc/transport";
import type { StatusView } from "../ipc/generated";

/** What of the status shows it. */
export type ConsoleState = Pick<StatusView, "readOnly" | "caughtUp"> & {
  readonly bus: Pick<StatusView["bus"], "connected">;
};

/** Why no approval can be sent; null when one can. Without a connection it waits in the outbox. */
export const blockedBy = (status: ConsoleState | null, lost: Pick<CallError, "message"> | null): string | null => {
  if (lost !== null) return lost.message;
  if (status === null) return "The console has not answered yet.";
  if (status.readOnly !== null) return status.readOnly;
  if (status.bus.connected && !status.caughtUp) return "The console is still catching up with the bus.";
  return null;
};
