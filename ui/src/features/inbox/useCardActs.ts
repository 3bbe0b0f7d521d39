/** What the operator does on one open card: progress on its way, reveals, edits and the verdict. */
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useDesk } from "../../desk/DeskContext";
import type { Answer, Card, DecideArgs, EditCheck, Verdict, Revealed } from "../../ipc/generated";
import { toCallError, type CallError } from "../../ipc/transport";
import { missingStep, noProgress, type Progress, type StepId } from "./steps";

/** A checked edit that has not been sent. */
export interface Draft {
  readonly json: string;
  readonly check: EditCheck;
}

export type Panel = "none" | "deny" | "terminate" | "answer" | "edit" | "raw" | "snooze" | "grant" | "why";

export interface CardActs {
  readonly panel: Panel;
  readonly open: (panel: Panel) => void;
  readonly progress: Progress;
  readonly advance: (change: Partial<Progress>) => void;
  readonly missing: StepId | null;
  readonly revealed: ReadonlyMap<number, Revealed>;
  readonly revealAll: () => Promise<void>;
  readonly draft: Draft | null;
  readonly setDraft: (draft: Draft | null) => void;
  readonly problem: string | null;
  readonly busy: boolean;
  readonly send: (verdict: Verdict, more?: Partial<DecideArgs>) => Promise<void>;
  readonly answer: (answer: Answer) => Promise<void>;
}

type Decide = (card: Card, args: DecideArgs) => Promise<CallError | null>;

export const useCardActs = (card: Card, decide: Decide, onSent: (moveOn: boolean) => void): CardActs => {
  const desk = useDesk();
  const [panel, open] = useState<Panel>("none");
  // What is open now, for an answer that comes late; null once the card is left.
  const opened = useRef<Panel | null>(panel);
  useLayoutEffect(() => {
    opened.current = panel;
    return () => { opened.current = null; };
  }, [panel]);
  const [progress, setProgress] = useState<Progress>(noProgress);
  const [revealed, setRevealed] = useState<ReadonlyMap<number, Revealed>>(new Map());
  const [draft, setDraft] = useState<Draft | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  const advance = useCallback((change: Partial<Progress>) => {
    setProgress((before) => ({ ...before, ...change }));
  }, []);
  // A new version of the arguments, or an edit of them, must be read again.
  const content = `${card.origin.requestDigest} ${draft?.check.argsDigest ?? ""}`;
  useEffect(() => { setProgress((before) => ({ ...before, readToEnd: false, typed: "" })); }, [content]);

  const revealAll = useCallback(async () => {
    for (const { reveal } of card.reveals) {
      if (revealed.has(reveal)) continue;
      try {
        // One after the other: each one is a row of the audit log.
        // oxlint-disable-next-line no-await-in-loop
        const value = await desk.call("reveal", { key: card.key, reveal });
        setRevealed((before) => new Map(before).set(reveal, value));
        setProgress((before) => ({ ...before, revealed: new Set(before.revealed).add(reveal) }));
      } catch (thrown) {
        setProblem(toCallError(thrown).message);
        return;
      }
    }
  }, [card.key, card.reveals, desk, revealed]);

  const send = useCallback(async (verdict: Verdict, more: Partial<DecideArgs> = {}) => {
    if (busy) return;
    setBusy(true);
    setProblem(null);
    const error = await decide(card, {
      key: card.key, verdict, seenRequestDigest: card.origin.requestDigest, seenArgsDigest: card.origin.argsDigest,
      edited: null, seenEditDigest: null, message: null, answer: null, typed: progress.typed === "" ? null : progress.typed,
      revealed: [...progress.revealed], ...more,
    });
    setBusy(false);
    if (error === null) {
      const asItWas = opened.current === panel;
      if (asItWas) open("none");
      onSent(asItWas);
    } else {
      setProblem(error.message);
    }
  }, [busy, card, decide, onSent, panel, progress]);

  const answer = useCallback((given: Answer) => send("respond", { answer: given }), [send]);
  const missing = useMemo(() => missingStep(card, progress), [card, progress]);
  return { panel, open, progress, advance, missing, revealed, revealAll, draft, setDraft, problem, busy, send, answer };
};
