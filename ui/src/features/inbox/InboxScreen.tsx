import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useDeferredValue, useEffect, useRef, useState } from "react";
import { useCommand } from "../../commands/CommandContext";
import { FilterField } from "../../components/FilterField";
import { ShownText } from "../../components/ShownText";
import { Unread } from "../../components/Unread";
import { useDesk, useInboxRows, useListError, useLoaded, useStatus } from "../../desk/DeskContext";
import type { Shown } from "../../ipc/generated";
import { BatchPane } from "./BatchPane";
import { CardPane } from "./CardPane";
import { mostUrgent, placeOf } from "./cursor";
import { filterRows } from "./filter";
import { Arrivals } from "./list/Arrivals";
import { HiddenUrgent } from "./list/HiddenUrgent";
import { EmptyInbox } from "./list/EmptyInbox";
import { InboxList } from "./list/InboxList";
import { SentTray } from "./list/SentTray";
import { SnoozedList } from "./list/SnoozedList";
import { useCursor } from "./useCursor";
import { useSelection } from "./useSelection";
import { cardWork, fronts } from "./unsaved";
import { useSent } from "./useSent";
import { useSnoozes } from "./useSnoozes";

/** How long it says that a card expired. */
const EXPIRED_SHOWN_MS = 10_000;
const counted = (requests: number): string => requests.toLocaleString("en");

/** What waits, and the card under the cursor. */
export const InboxScreen = () => {
  const desk = useDesk();
  const queries = useQueryClient();
  const all = useInboxRows();
  const loaded = useLoaded();
  const listError = useListError();
  const status = useStatus();
  // While the console reads what the bus holds, its list is empty.
  const isKnown = loaded && (all.length > 0 || status === null || status.caughtUp || !status.bus.connected);
  const [filter, setFilter] = useState("");
  // The key of the last card that expired; the tool of the last one that was left for that.
  const [ended, setEnded] = useState<string | null>(null);
  const [expired, setExpired] = useState<Shown | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => {
      setExpired(null);
    }, EXPIRED_SHOWN_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [expired]);
  const wanted = useDeferredValue(filter);
  const { awake, snoozed, snooze, wake } = useSnoozes(all);
  const rows = filterRows(awake, wanted);
  const { card: start } = useSearch({ from: "/" });
  const navigate = useNavigate();
  // Whether something is open or typed on the card.
  const engaged = useRef(false);
  const isFree = useCallback(() => !engaged.current, []);
  const cursor = useCursor(rows, start ?? null, isFree);
  const sent = useSent();
  const selection = useSelection(rows, cursor);
  const { now, set: goTo } = cursor;
  const { clear: unselect } = selection;
  // The palette asks for a card also while the inbox is open.
  useEffect(() => {
    if (start === undefined) return;
    goTo(start);
    setFilter("");
    unselect();
    void navigate({ to: "/", search: {}, replace: true });
  }, [goTo, navigate, start, unselect]);

  // An open card reads itself again when something happened to it.
  useEffect(
    () =>
      desk.onTouched((notices) => {
        for (const { key, verdict } of notices) {
          // What was typed on a card lasts until it is answered. That the list lacks it says nothing: while the console
          // reads what the bus holds, the list is empty.
          if (verdict === "expired" && key === now()) setEnded(key);
          if (verdict !== null) {
            cardWork.keep(key, undefined);
            fronts.keep(key, undefined);
          }
          const known = queries.getQueryState(["card", key]) !== undefined;
          if (known) void queries.invalidateQueries({ queryKey: ["card", key] });
        }
      }),
    [desk, now, queries],
  );
  const { key } = cursor;
  const next = rows[placeOf(rows, key) + 1]?.key;
  useEffect(() => {
    if (next === undefined) return;
    void queries.prefetchQuery({ queryKey: ["card", next], queryFn: () => desk.call("card", { key: next }) });
  }, [desk, next, queries]);

  const { undo, shown } = sent;
  useEffect(() => shown(), [shown]);
  const onEngaged = useCallback((is: boolean) => {
    engaged.current = is;
  }, []);
  const takeBack = useCallback(
    async (held?: string) => {
      const from = cursor.now();
      const taken = (await undo(held)) ?? [];
      const [first] = taken;
      if (first === undefined) return;
      await Promise.all(taken.map((card) => queries.invalidateQueries({ queryKey: ["card", card] })));
      // A late answer takes nobody from what is read or typed by now.
      if (cursor.now() === from && !engaged.current) cursor.set(first);
    },
    [cursor, queries, undo],
  );
  const onSent = useCallback(
    (moveOn: boolean) => {
      if (key === null) return;
      void queries.invalidateQueries({ queryKey: ["card", key] });
      if (moveOn) cursor.toNextAfter(key);
    },
    [cursor, key, queries],
  );

  // A card that expired under the cursor gives way to the next one, unless something is typed on it.
  const tool = rows[placeOf(rows, key)]?.tool;
  const last = useRef<{ readonly key: string; readonly tool: Shown } | null>(null);
  const { toNextAfter } = cursor;
  const leaveExpired = useCallback(() => {
    if (last.current === null || last.current.key !== ended || !isFree()) return;
    setExpired(last.current.tool);
    toNextAfter(last.current.key);
    last.current = null;
  }, [ended, isFree, toNextAfter]);
  useEffect(() => {
    if (tool !== undefined && key !== null) last.current = { key, tool };
    else if (last.current?.key === key) leaveExpired();
  }, [key, leaveExpired, tool]);

  const list = useRef<HTMLDivElement>(null);
  // What held the focus goes with a card that is answered: whoever uses Tab or a screen reader goes on in the list.
  const onFree = useCallback(() => {
    if (document.activeElement === document.body) list.current?.focus({ preventScroll: true });
  }, []);
  const onClosed = useCallback(() => {
    onFree();
    engaged.current = false;
    if (tool === undefined) leaveExpired();
  }, [leaveExpired, onFree, tool]);
  const before = useRef(key);
  useEffect(() => {
    if (before.current !== null && before.current !== key) onFree();
    before.current = key;
  }, [key, onFree]);

  const { drop } = selection;
  const onAnswered = useCallback(
    (answered: readonly string[]) => {
      for (const card of answered) void queries.invalidateQueries({ queryKey: ["card", card] });
      drop(answered);
      if (!engaged.current) cursor.toNextAfter(...answered);
    },
    [cursor, drop, queries],
  );

  const onSnooze = useCallback(
    (untilMs: number) => {
      if (key === null) return;
      cursor.toNextAfter(key);
      snooze(key, untilMs);
    },
    [cursor, key, snooze],
  );

  useCommand("next", () => {
    cursor.move(1);
  });
  useCommand("previous", () => {
    cursor.move(-1);
  });
  useCommand("mostUrgent", () => {
    const urgent = mostUrgent(awake);
    if (urgent === null) return;
    // A filter hides nothing from whoever asks for what is most urgent.
    if (placeOf(rows, urgent) < 0) setFilter("");
    cursor.set(urgent);
  });
  useCommand(
    "trace",
    () => void (key !== null && navigate({ to: "/traces/tree", search: { key, card: key } })),
    key !== null,
  );
  useCommand("undo", () => void takeBack());
  // A card that is done stays until the operator moves on.
  useCommand("back", () => {
    if (key === null || placeOf(rows, key) >= 0) return false;
    cursor.set(rows[0]?.key ?? null);
    return true;
  });

  return (
    <div
      className={`grid min-h-0 min-w-0 flex-1 grid-cols-[372px_minmax(0,1fr)]
      max-[900px]:grid-cols-[240px_minmax(0,1fr)] max-[800px]:grid-cols-[190px_minmax(0,1fr)]
      grid-rows-[minmax(0,1fr)] narrow:grid-cols-1 narrow:grid-rows-[auto_minmax(0,1fr)]`}
    >
      <section
        className={`flex min-h-0 flex-col border-r border-line narrow:flex-row narrow:flex-wrap narrow:border-r-0
          narrow:border-b`}
        aria-label="Inbox"
      >
        <header className="flex items-baseline gap-2 px-3.5 pt-3 pb-2 narrow:py-1.5 narrow:tiny:hidden">
          <h1 className="m-0 text-[15px] font-semibold">Inbox</h1>
          <span className="text-text-3" data-testid="waiting">
            {!isKnown
              ? "reading…"
              : rows.length === awake.length
                ? `${counted(awake.length)} waiting`
                : `${counted(rows.length)} of ${counted(awake.length)}`}
          </span>
          <SnoozedList snoozed={snoozed} onWake={wake} />
          <span className="ml-auto text-text-3 max-[800px]:hidden">sorted by deadline</span>
        </header>
        <FilterField
          label="Filter"
          placeholder="Filter: agent, tool, risk, text…"
          value={filter}
          onChange={setFilter}
          className="mx-3.5 mb-2 narrow:my-1 narrow:ml-0 narrow:min-w-0 narrow:flex-1 narrow:py-0 narrow:tiny:hidden"
        />
        {rows.length === awake.length ? null : <HiddenUrgent awake={awake} rows={rows} />}
        <Unread error={listError} className="mx-3.5 mt-0 mb-2" />
        {loaded && awake.length > 0 && rows.length === 0 ? (
          <p className="px-3.5 text-text-3">Nothing fits the filter. Esc clears it.</p>
        ) : null}
        {selection.picked.length > 0 || selection.left === 0 || sent.sending ? null : (
          <p role="status" className="m-0 px-3.5 pb-2 text-warn" data-testid="all-left">
            The selected calls were answered, expired or snoozed meanwhile.
          </p>
        )}
        {expired === null ? null : (
          <p role="status" className="m-0 px-3.5 pb-2 text-warn" data-testid="expired">
            <ShownText text={expired} /> expired without an answer.
          </p>
        )}
        {selection.refusal === null ? null : (
          <p role="status" className="m-0 px-3.5 pb-2 text-warn" data-testid="refusal">
            {selection.refusal}
          </p>
        )}
        <InboxList scroller={list} rows={rows} cursor={key} picked={selection.picked} onSelect={cursor.set} />
        <SentTray list={sent.list} onUndo={() => void takeBack()} onSelect={cursor.set} />
        <Arrivals rows={all} />
      </section>
      <main className="flex min-h-0 min-w-0 flex-col" aria-label="Inbox">
        {selection.picked.length > 0 ? (
          <BatchPane
            picked={selection.picked}
            left={selection.left}
            sent={sent}
            onAnswered={onAnswered}
            onClear={selection.clear}
          />
        ) : key === null ? (
          isKnown ? (
            <EmptyInbox />
          ) : (
            <div className="grid flex-1 place-items-center text-text-3">Reading the waiting calls…</div>
          )
        ) : (
          <CardPane
            key={key}
            requestKey={key}
            sent={sent}
            onSent={onSent}
            onEngaged={onEngaged}
            onFree={onClosed}
            onUndo={() => void takeBack(key)}
            onSnooze={onSnooze}
          />
        )}
      </main>
    </div>
  );
};
