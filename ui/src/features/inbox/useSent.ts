import { useCallback, useEffect, useState } from "react";
import { useDesk, useInboxRows } from "../../desk/DeskContext";
import type { Card, DecideArgs } from "../../ipc/generated";
import { toCallError, type CallError } from "../../ipc/transport";
import { fade, follow, note, put, sentState, undoable, type Sent } from "./sent";

export interface SentView {
  readonly list: readonly Sent[];
  /** Null when the verdict was taken, else why not. */
  readonly decide: (card: Card, args: DecideArgs) => Promise<CallError | null>;
  /** Takes the last held approval back and gives its key. */
  readonly undo: () => Promise<string | null>;
}

const nameOf = (card: Card): Sent["name"] => card.tool?.name ?? card.question?.text ?? [{ kind: "text", text: card.requestId }];

export const useSent = (): SentView => {
  const desk = useDesk();
  const [list, setList] = useState<readonly Sent[]>([]);

  useEffect(() => desk.onTouched((notices) => {
    setList((before) => notices.reduce((sofar, notice) => note(sofar, notice, desk.now()), before));
  }), [desk]);

  const rows = useInboxRows();
  useEffect(() => { setList((before) => follow(before, rows, desk.now())); }, [desk, rows, list]);

  const some = list.length > 0;
  useEffect(() => {
    if (!some) return undefined;
    const timer = setInterval(() => { setList((before) => fade(before, desk.now())); }, 500);
    return () => { clearInterval(timer); };
  }, [desk, some]);

  const decide = useCallback(async (card: Card, args: DecideArgs): Promise<CallError | null> => {
    const entry: Sent = {
      key: card.key, name: nameOf(card), verdict: args.verdict, sentAs: args.verdict, state: "sending", releaseMs: null,
      by: null, message: null, sinceMs: desk.now(),
    };
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

  const undo = useCallback(async (): Promise<string | null> => {
    const held = undoable(list);
    if (held === null) return null;
    try {
      await desk.call("undo", { key: held.key });
      setList((before) => put(before, { ...held, state: "undone", sinceMs: desk.now() }));
      return held.key;
    } catch (thrown) {
      const { message } = toCallError(thrown);
      setList((before) => before.map((entry) => (entry.key === held.key ? { ...entry, message } : entry)));
      return null;
    }
  }, [desk, list]);

  return { list, decide, undo };
};
