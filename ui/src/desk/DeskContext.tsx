import { createContext, useContext, useEffect, useMemo, useState, useSyncExternalStore, type ReactNode } from "react";
import type { InboxRow, StatusView } from "../ipc/generated";
import type { CallError } from "../ipc/transport";
import { blockedBy } from "./blocked";
import type { Desk } from "./desk";
import { midnight } from "./clock";
import { createTicks, type Ticks } from "./ticks";

const DeskContext = createContext<Desk | null>(null);
const TicksContext = createContext<Ticks | null>(null);

interface DeskProviderProps {
  readonly desk: Desk;
  readonly children: ReactNode;
}

/** Connects the desk while it is on screen, and gives it to what is inside. */
export const DeskProvider = ({ desk, children }: DeskProviderProps) => {
  useEffect(() => desk.start(), [desk]);
  const ticks = useMemo(() => createTicks(() => desk.now()), [desk]);
  return (
    <DeskContext value={desk}>
      <TicksContext value={ticks}>{children}</TicksContext>
    </DeskContext>
  );
};

/** The connection to the console. */
export const useDesk = (): Desk => {
  const desk = useContext(DeskContext);
  if (desk === null) throw new Error("useDesk outside of DeskProvider");
  return desk;
};

/** What waits, by deadline. */
export const useInboxRows = (): readonly InboxRow[] => {
  const desk = useDesk();
  return useSyncExternalStore(desk.subscribe, () => desk.view().inbox.rows);
};

/** The console's status; null until it was read. */
export const useStatus = (): StatusView | null => {
  const desk = useDesk();
  return useSyncExternalStore(desk.subscribe, () => desk.view().status);
};

/** Whether the list was read once. */
export const useLoaded = (): boolean => {
  const desk = useDesk();
  return useSyncExternalStore(desk.subscribe, () => desk.view().loaded);
};

/** Why the list could not be read again; null while it is what the console has. */
export const useListError = (): CallError | null => {
  const desk = useDesk();
  return useSyncExternalStore(desk.subscribe, () => desk.view().listError);
};

/** Why the status could not be read again; null while it is what the console sends. */
export const useStatusError = (): CallError | null => {
  const desk = useDesk();
  return useSyncExternalStore(desk.subscribe, () => desk.view().statusError);
};

/** Why the console is lost; null while it answers. */
export const useLost = (): CallError | null => {
  const desk = useDesk();
  return useSyncExternalStore(desk.subscribe, () => desk.view().lost);
};

/** The server's time by the second, the same on every place of the page. */
export const useServerSecond = (): number => {
  const ticks = useContext(TicksContext);
  if (ticks === null) throw new Error("useServerSecond outside of DeskProvider");
  return useSyncExternalStore(ticks.subscribe, ticks.now);
};

/** When the server's today began: it changes once a day, and so does what hangs on it. */
export const useToday = (): number => {
  const ticks = useContext(TicksContext);
  if (ticks === null) throw new Error("useToday outside of DeskProvider");
  return useSyncExternalStore(ticks.subscribe, () => midnight(ticks.now()));
};

/** The server's time, read again every `everyMs`. */
export const useServerNow = (everyMs: number): number => {
  const desk = useDesk();
  const [now, setNow] = useState(() => desk.now());
  useEffect(() => {
    setNow(desk.now());
    const timer = setInterval(() => {
      setNow(desk.now());
    }, everyMs);
    return () => {
      clearInterval(timer);
    };
  }, [desk, everyMs]);
  return now;
};

/** Why no approval can be sent from this page now; null when one can. */
export const useBlocked = (): string | null => {
  const status = useStatus();
  const lost = useLost();
  return blockedBy(status, lost);
};
