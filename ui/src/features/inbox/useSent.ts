import { createContext, useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";
import { useDesk, useInboxRows } from "../../desk/DeskContext";
import type { Card, DecideArgs, Shown } from "../../ipc/generated";
import { toCallError, type CallError } from "../../ipc/transport";
import { atOnce } from "./atOnce";
import { differing } from "./differing";
import { cardWork } from "./unsaved";
import { fade, follow, note, put, sentState, shownAgain, undoableKeys, type Sent } from "./sent";

const BLANK: Shown[number] = { kind: "text", text: " " };
/** Of a line without its indentation. */
const onOneLine = (line: Shown): Shown =>
  line
    .map((part, place) => (place === 0 && part.kind === "text" ? { ...part, text: part.text.trimStart() } : part))
    .concat(BLANK);

/** What became of a batch: how many answers went out before it was stopped. */
interface BatchEnd {
  readonly begun: number;
}

export interface SentView {
  readonly list: readonly Sent[];
  /** Null when the verdict was taken, else why not. */
  readonly decide: (card: Card, args: DecideArgs) => Promise<CallError | null>;
  /** Answers several cards, each by a decision of its own, at nearly the same moment. */
  readonly decideAll: (cards: readonly Card[], argsOf: (card: Card) => DecideArgs) => Promise<BatchEnd>;
  /** A batch is being sent. */
  readonly sending: boolean;
  /** What of a batch is not sent yet stays here. */
  readonly stop: () => void;
  /**
   * Takes held approvals back and gives their keys, in the order they were given: without a key the last one, with all
   * of its batch. Null where there was nothing to ask for.
   */
  readonly undo: (key?: string) => Promise<readonly string[] | null>;
  /** The list is on screen until the returned function is called: what was shown fades only there. */
  readonly shown: () => () => void;
}

const LOOK_MS = 500;
/** So many answers of a batch are on their way to the console at once. */
const WIDTH = 8;

const nameOf = (card: Card): Sent["name"] =>
  card.tool?.name ??
  card.question?.text ??
  card.says.find(({ field }) => field === "title")?.text ?? [{ kind: "text", text: card.kind }];

const fresh = (key: string, name: Shown, args: Shown, verdict: Sent["verdict"], sinceMs: number): Sent => ({
  key,
  name,
  args,
  batch: null,
  finding: null,
  verdict,
  sentAs: verdict,
  isVote: false,
  state: "sending",
  listed: false,
  releaseMs: null,
  by: null,
  message: null,
  practice: null,
  sinceMs,
});

/**
 * What became of the verdicts of this window. One for the whole page: an approval is still held while its operator
 * looks elsewhere.
 */
export const useSentVerdicts = (): SentView => {
  const desk = useDesk();
  const [list, show] = useState<readonly Sent[]>([]);
  // The list itself; what React draws may be a moment older.
  const latest = useRef(list);
  const setList = useCallback((change: (before: readonly Sent[]) => readonly Sent[]) => {
    latest.current = change(latest.current);
    show(latest.current);
  }, []);
  const screens = useRef(0);
  const [sending, setSending] = useState(false);
  const running = useRef<{ readonly number: number; stopped: boolean; end: Promise<unknown> } | null>(null);
  const batches = useRef(0);
  const takingBack = useRef(new Set<string>());

  useEffect(
    () =>
      desk.onTouched((notices) => {
        setList((before) => notices.reduce((sofar, notice) => note(sofar, notice, desk.now()), before));
      }),
    [desk, setList],
  );

  const rows = useInboxRows();
  useEffect(() => {
    setList((before) => follow(before, rows, desk.now()));
  }, [desk, rows, list, setList]);

  const some = list.length > 0;
  useEffect(() => {
    if (!some) return undefined;
    const timer = setInterval(() => {
      setList((before) => {
        const now = desk.now();
        const reported = follow(before, desk.view().inbox.rows, now);
        return screens.current > 0 ? fade(reported, now) : reported;
      });
    }, LOOK_MS);
    return () => {
      clearInterval(timer);
    };
  }, [desk, setList, some]);

  const shown = useCallback(() => {
    screens.current += 1;
    setList((before) => (before.length === 0 ? before : shownAgain(before, desk.now())));
    return () => {
      screens.current -= 1;
    };
  }, [desk, setList]);

  const give = useCallback(
    async (card: Card, args: DecideArgs, line: Shown, number: number | null): Promise<CallError | null> => {
      const runs = args.verdict === "approve" || args.verdict === "modify";
      const entry: Sent = {
        ...fresh(card.key, nameOf(card), line, args.verdict, desk.now()),
        batch: number,
        finding: card.findings[0] ?? null,
        isVote: card.votes !== null && runs,
      };
      setList((before) => put(before, entry));
      try {
        const outcome = await desk.call("decide", args);
        const practice = outcome.practice ?? null;
        const state = practice === null ? sentState(outcome.state) : "practice";
        setList((before) => {
          // News of the stream may have come before this answer.
          const there = before.find((other) => other.key === card.key);
          if (there !== undefined && there.state !== "sending") return before;
          return put(before, {
            ...entry,
            state,
            sentAs: outcome.verdict,
            releaseMs: outcome.releaseMs,
            practice,
            sinceMs: desk.now(),
          });
        });
        return null;
      } catch (thrown) {
        const error = toCallError(thrown);
        setList((before) => put(before, { ...entry, state: "failed", message: error.message, sinceMs: desk.now() }));
        return error;
      }
    },
    [desk, setList],
  );
  const decide = useCallback(
    (card: Card, args: DecideArgs) => {
      const asked = card.effect ?? differing([card]).get(card.key) ?? [];
      // What runs is the edit, on one line, as the comparison shows it: hidden values stay hidden.
      const lines = args.edited === null ? undefined : cardWork.of(card.key)?.draft?.check.diff;
      const edit = lines?.filter(({ kind }) => kind !== "old").flatMap(({ text }) => onOneLine(text));
      return give(card, args, edit ?? asked, null);
    },
    [give],
  );

  const stop = useCallback(() => {
    if (running.current !== null) running.current.stopped = true;
  }, []);
  const decideAll = useCallback(
    async (cards: readonly Card[], argsOf: (card: Card) => DecideArgs): Promise<BatchEnd> => {
      if (running.current !== null) return { begun: 0 };
      const lines = differing(cards);
      const answers = cards.map((card) => ({ card, args: argsOf(card), shown: lines.get(card.key) ?? [] }));
      const run = { number: (batches.current += 1), stopped: false, end: Promise.resolve<unknown>(null) };
      running.current = run;
      setSending(true);
      const work = atOnce(
        answers,
        WIDTH,
        ({ card, args, shown: line }) => give(card, args, line, run.number),
        () => run.stopped,
      );
      run.end = work;
      try {
        return { begun: await work };
      } finally {
        running.current = null;
        setSending(false);
      }
    },
    [give],
  );

  const takeBack = useCallback(
    async (key: string): Promise<boolean> => {
      // A page that was loaded again has forgotten what it held.
      const row = desk.view().inbox.rows.find((one) => one.key === key);
      const held =
        latest.current.find((entry) => entry.key === key) ??
        fresh(key, row?.tool ?? [{ kind: "text", text: key }], row?.summary ?? [], "approve", desk.now());
      try {
        await desk.call("undo", { key });
        setList((before) => put(before, { ...held, state: "undone", sinceMs: desk.now() }));
        return true;
      } catch (thrown) {
        const { message } = toCallError(thrown);
        setList((before) =>
          before.some((entry) => entry.key === key)
            ? before.map((entry) => (entry.key === key ? { ...entry, message } : entry))
            : put(before, { ...held, state: "failed", message, sinceMs: desk.now() }),
        );
        return false;
      }
    },
    [desk, setList],
  );

  const undo = useCallback(
    async (wanted?: string): Promise<readonly string[] | null> => {
      let stops = false;
      if (wanted === undefined && running.current !== null) {
        stops = !running.current.stopped;
        stop();
        await running.current.end;
      }
      // What is on its way back is not asked for again: pressed once more, it is the one before.
      const isHere = ({ key }: { readonly key: string }): boolean => !takingBack.current.has(key);
      const keys =
        wanted === undefined
          ? undoableKeys(latest.current.filter(isHere), desk.view().inbox.rows.filter(isHere))
          : [wanted];
      if (keys.length === 0 && !stops) return null;
      for (const key of keys) takingBack.current.add(key);
      const taken = new Set<string>();
      await atOnce(keys, WIDTH, async (key) => {
        if (await takeBack(key)) taken.add(key);
        takingBack.current.delete(key);
      });
      return keys.filter((key) => taken.has(key));
    },
    [desk, stop, takeBack],
  );

  return useMemo(
    () => ({ list, decide, decideAll, sending, stop, undo, shown }),
    [list, decide, decideAll, sending, stop, undo, shown],
  );
};

const SentContext = createContext<SentView | null>(null);

export const SentProvider = SentContext.Provider;

export const useSent = (): SentView => {
  const sent = useContext(SentContext);
  if (sent === null) throw new Error("useSent outside of SentProvider");
  return sent;
};
