import { createContext, useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";
import { useDesk, useInboxRows } from "../../desk/DeskContext";
import type { Card, DecideArgs, Shown } from "../../ipc/generated";
import { toCallError, type CallError } from "../../ipc/transport";
import { fade, follow, note, put, sentState, shownAgain, undoable, type Sent } from "./sent";

export interface SentView {
  readonly list: readonly Sent[];
  /** Null when the verdict was taken, else why not. */
  readonly decide: (card: Card, args: DecideArgs) => Promise<CallError | null>;
  /** Takes a held approval back, without a key the last one, and gives its key; null when none was. */
  readonly undo: (key?: string) => Promise<string | null>;
  /** The list is on screen until the returned function is called: what was told fades only there. */
  readonly shown: () => () => void;
}

const LOOK_MS = 500;

const nameOf = (card: Card): Sent["name"] => card.tool?.name ?? card.question?.text ?? [{ kind: "text", text: card.requestId }];

const fresh = (key: string, name: Shown, verdict: Sent["verdict"], sinceMs: number): Sent => ({
  key, name, verdict, sentAs: verdict, isVote: false, state: "sending", listed: false, releaseMs: null, by: null, message: null, sinceMs,
});

/** What became of the verdicts of this window. One for the whole page: an approval is still held while its operator looks elsewhere. */
export const useSentVerdicts = (): SentView => {
  const desk = useDesk();
  const [list, setList] = useState<readonly Sent[]>([]);
  const screens = useRef(0);

  useEffect(() => desk.onTouched((notices) => {
    setList((before) => notices.reduce((sofar, notice) => note(sofar, notice, desk.now()), before));
  }), [desk]);

  const rows = useInboxRows();
  useEffect(() => { setList((before) => follow(before, rows, desk.now())); }, [desk, rows, list]);

  const some = list.length > 0;
  useEffect(() => {
    if (!some) return undefined;
    const timer = setInterval(() => {
      setList((before) => {
        const now = desk.now();
        const told = follow(before, desk.view().inbox.rows, now);
        return screens.current > 0 ? fade(told, now) : told;
      });
    }, LOOK_MS);
    return () => { clearInterval(timer); };
  }, [desk, some]);

  const shown = useCallback(() => {
    screens.current += 1;
    setList((before) => (before.length === 0 ? before : shownAgain(before, desk.now())));
    return () => { screens.current -= 1; };
  }, [desk]);

  const decide = useCallback(async (card: Card, args: DecideArgs): Promise<CallError | null> => {
    const runs = args.verdict === "approve" || args.verdict === "modify";
    const entry: Sent = { ...fresh(card.key, nameOf(card), args.verdict, desk.now()), isVote: card.votes !== null && runs };
    setList((before) => put(before, entry));
    try {
      const outcome = await desk.call("decide", args);
      const state = sentState(outcome.state);
      setList((before) => {
        // News of the stream may have come before this answer.
        const there = before.find((other) => other.key === card.key);
        if (there !== undefined && there.state !== "sending") return before;
        return put(before, { ...entry, state, sentAs: outcome.verdict, releaseMs: outcome.releaseMs, sinceMs: desk.now() });
      });
      return null;
    } catch (thrown) {
      const error = toCallError(thrown);
      setList((before) => put(before, { ...entry, state: "failed", message: error.message, sinceMs: desk.now() }));
      return error;
    }
  }, [desk]);

  const undo = useCallback(async (wanted?: string): Promise<string | null> => {
    const key = wanted ?? undoable(list)?.key;
    if (key === undefined) return null;
    // A page that was loaded again has forgotten what it held.
    const held = list.find((entry) => entry.key === key)
      ?? fresh(key, desk.view().inbox.rows.find((row) => row.key === key)?.tool ?? [{ kind: "text", text: key }], "approve", desk.now());
    try {
      await desk.call("undo", { key });
      setList((before) => put(before, { ...held, state: "undone", sinceMs: desk.now() }));
      return key;
    } catch (thrown) {
      const { message } = toCallError(thrown);
      setList((before) => (before.some((entry) => entry.key === key)
        ? before.map((entry) => (entry.key === key ? { ...entry, message } : entry))
        : put(before, { ...held, state: "failed", message, sinceMs: desk.now() })));
      return null;
    }
  }, [desk, list]);

  return useMemo(() => ({ list, decide, undo, shown }), [list, decide, undo, shown]);
};

const SentContext = createContext<SentView | null>(null);

export const SentProvider = SentContext.Provider;

export const useSent = (): SentView => {
  const sent = useContext(SentContext);
  if (sent === null) throw new Error("useSent outside of SentProvider");
  return sent;
};
