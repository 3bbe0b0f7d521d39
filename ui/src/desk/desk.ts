/**
 * The page's one connection to the console: list, status and clock, kept fresh by batches. Refuses to
 * hide that it is lost: a failed call or heartbeat is visible until one succeeds.
 */
import type { DecidedNotice, InboxBatch, StatusView } from "../ipc/generated";
import { CallError, toCallError, type ArgsOf, type CommandName, type ResultOf, type Transport } from "../ipc/transport";
import { createNews } from "./news";
import { noClock, sample, serverNow, type Clock } from "./clock";
import { applyBatch, applyFirst, applySnapshot, emptyInbox, type InboxState } from "./inboxState";

/** What the page knows of the console now. */
export interface DeskView {
  readonly inbox: InboxState;
  readonly loaded: boolean;
  readonly status: StatusView | null;
  /** Why the list could not be read again; what is shown of it may be old. */
  readonly listError: CallError | null;
  /** Why the status could not be read again. */
  readonly statusError: CallError | null;
  /** Why nothing can be decided from this page; null while the console answers. */
  readonly lost: CallError | null;
}

/** The connection, as every part of the page uses it. */
export interface Desk {
  view(): DeskView;
  subscribe(listener: () => void): () => void;
  /** Requests whose card, decision or delivery changed. */
  onTouched(listener: (notices: readonly DecidedNotice[]) => void): () => void;
  /** Somebody asked outside of the page to turn panic off. */
  onPanicAsked(listener: () => void): () => void;
  call<N extends CommandName>(name: N, args: ArgsOf<N>): Promise<ResultOf<N>>;
  /** How large the page is drawn; 1 is its usual size. */
  zoom(factor: number): Promise<void>;
  /** The server's time. */
  now(): number;
  /** Connects and keeps the connection until the returned function is called. */
  start(): () => void;
}

const HEARTBEAT_MS = 5_000;
const RETRY_MS = [250, 500, 1_000, 2_000, 5_000];

/** A connection over this transport; it begins with `start`. */
export const createDesk = (transport: Transport): Desk => {
  let view: DeskView = {
    inbox: emptyInbox,
    loaded: false,
    status: null,
    listError: null,
    statusError: null,
    lost: null,
  };
  let clock: Clock = noClock;
  let snapshotRunning = false;
  /** How many batches have brought the status. */
  let reported = 0;
  let attempts = 0;
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let stopChannel: (() => void) | null = null;
  let running = false;
  const changes = createNews();
  const panicAsked = createNews();
  const touched = createNews<readonly DecidedNotice[]>();

  const set = (change: Partial<DeskView>): void => {
    view = { ...view, ...change };
    changes.tell();
  };

  const call = async <N extends CommandName>(name: N, args: ArgsOf<N>): Promise<ResultOf<N>> => {
    try {
      const result = await transport.call(name, args);
      if (view.lost !== null) set({ lost: null });
      return result;
    } catch (thrown) {
      const error = toCallError(thrown);
      if (error.code === "ipc_lost") set({ lost: error });
      throw error;
    }
  };

  const later = (ms: number, work: () => void): void => {
    if (!running) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      if (running) work();
    }, ms);
    timers.add(timer);
  };

  /** The pauses grow until something succeeds. */
  const again = (work: () => void): void => {
    later(RETRY_MS[Math.min(attempts++, RETRY_MS.length - 1)] ?? 5_000, work);
  };

  const readClock = async (): Promise<void> => {
    const sentAt = performance.now();
    const { serverMs } = await call("server_time", {});
    clock = sample(clock, serverMs, sentAt, performance.now());
  };

  const readStatus = async (): Promise<void> => {
    const before = reported;
    try {
      const status = await call("status", {});
      // It waits for the bus: what arrived meanwhile is newer.
      set(reported === before ? { status, statusError: null } : { statusError: null });
    } catch (thrown) {
      set({ statusError: toCallError(thrown) });
      throw thrown;
    }
  };

  /** What waits next is drawn while the whole list is read. */
  const readFirst = async (): Promise<void> => {
    if (view.loaded) return;
    try {
      const first = await call("inbox_first", {});
      set({ inbox: applyFirst(view.inbox, first) });
    } catch {
      // What reads the whole list says why it cannot.
    }
  };

  const readSnapshot = async (): Promise<void> => {
    if (snapshotRunning) return;
    snapshotRunning = true;
    let resync = false;
    try {
      const snapshot = await call("inbox_snapshot", {});
      const applied = applySnapshot(view.inbox, snapshot);
      resync = applied.resync;
      attempts = 0;
      set({ inbox: applied.state, loaded: true, listError: null });
    } catch (thrown) {
      set({ listError: toCallError(thrown) });
      resync = true;
    } finally {
      snapshotRunning = false;
    }
    if (resync) again(() => void readSnapshot());
  };

  const onBatch = (batch: InboxBatch): void => {
    const applied = applyBatch(view.inbox, batch);
    if (batch.status !== null) reported += 1;
    set(
      batch.status === null
        ? { inbox: applied.state }
        : { inbox: applied.state, status: batch.status, statusError: null },
    );
    if (batch.touched.length > 0) touched.tell(batch.touched);
    if (batch.panicAsked) panicAsked.tell();
    if (applied.resync) void readSnapshot();
  };

  const connect = async (): Promise<void> => {
    try {
      stopChannel?.();
      stopChannel = await transport.subscribe(onBatch);
      await readClock();
      await readFirst();
      await readStatus();
      await readSnapshot();
    } catch (thrown) {
      set({ lost: toCallError(thrown) });
      again(() => void connect());
    }
  };

  const heartbeat = async (): Promise<void> => {
    const wasLost = view.lost !== null;
    try {
      await readClock();
      await readStatus();
      if (wasLost) await connect();
    } catch {
      // It is shown; the next beat tries again.
    }
    later(HEARTBEAT_MS, () => void heartbeat());
  };

  return {
    view: () => view,
    subscribe: changes.subscribe,
    onTouched: touched.subscribe,
    onPanicAsked: panicAsked.subscribe,
    call,
    zoom: (factor) => transport.zoom(factor),
    now: () => serverNow(clock, performance.now()),
    start: () => {
      running = true;
      void connect();
      later(HEARTBEAT_MS, () => void heartbeat());
      return () => {
        running = false;
        for (const timer of timers) clearTimeout(timer);
        timers.clear();
        stopChannel?.();
        stopChannel = null;
      };
    },
  };
};
