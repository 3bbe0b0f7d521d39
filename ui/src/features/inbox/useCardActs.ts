/** What the operator does on one open card: progress on its way, reveals, edits and the verdict. */
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useDesk } from "../../desk/DeskContext";
import type { Answer, Card, DecideArgs, Revealed, TypedTarget, Verdict } from "../../ipc/generated";
import { toCallError, type CallError } from "../../ipc/transport";
import { missingStep, type Progress, type StepId } from "./steps";
import { cardWork, type Draft, type Unsent } from "./unsaved";

const NOTHING: Unsent = { reason: "", answer: "", form: null };

export type Panel = "none" | "deny" | "terminate" | "answer" | "edit" | "raw" | "snooze" | "grant" | "why";

export interface CardActs {
  readonly panel: Panel;
  readonly open: (panel: Panel) => void;
  readonly progress: Progress;
  readonly openEvidence: () => void;
  readonly type: (text: string) => void;
  /** What of the arguments is on screen: another value is another reading. */
  readonly content: string;
  /** Their end was on screen. */
  readonly sawEnd: (content: string) => void;
  readonly sawName: () => void;
  readonly missing: StepId | null;
  /** What is typed before that which would run now: the arguments, or an edit of them. */
  readonly target: TypedTarget;
  readonly revealed: ReadonlyMap<number, Revealed>;
  readonly revealAll: () => Promise<void>;
  readonly draft: Draft | null;
  readonly setDraft: (draft: Draft | null) => void;
  /** What is in the editor and was not compared; it outlives a look at the card. */
  readonly kept: string | null;
  readonly keep: (text: string) => void;
  readonly unsent: Unsent;
  readonly write: (more: Partial<Unsent>) => void;
  readonly problem: string | null;
  readonly busy: boolean;
  readonly send: (verdict: Verdict, more?: Partial<DecideArgs>) => Promise<void>;
  readonly answer: (answer: Answer) => Promise<void>;
}

type Decide = (card: Card, args: DecideArgs) => Promise<CallError | null>;

export const useCardActs = (card: Card, decide: Decide, onSent: (moveOn: boolean) => void): CardActs => {
  const desk = useDesk();
  const [panel, open] = useState<Panel>("none");
  const [evidenceOpen, setEvidenceOpen] = useState(false);
  const [typed, type] = useState("");
  const [readOf, sawEnd] = useState("");
  const [nameRead, setNameRead] = useState(false);
  // What is open now, for an answer that comes late; null once the card is left.
  const opened = useRef<Panel | null>(panel);
  useLayoutEffect(() => {
    opened.current = panel;
    return () => {
      opened.current = null;
    };
  }, [panel]);
  const [revealed, setRevealed] = useState<ReadonlyMap<number, Revealed>>(new Map());
  const [earlier] = useState(() => {
    const work = cardWork.of(card.key);
    return work?.requestDigest === card.origin.requestDigest ? work : null;
  });
  const [draft, putDraft] = useState<Draft | null>(earlier?.draft ?? null);
  const [kept, keep] = useState<string | null>(earlier?.kept ?? null);
  const setDraft = useCallback((next: Draft | null) => {
    putDraft(next);
    keep(null);
  }, []);
  const [unsent, setUnsent] = useState(earlier?.unsent ?? NOTHING);
  const { requestDigest } = card.origin;
  useEffect(() => {
    const nothing = draft === null && kept === null && unsent === NOTHING;
    cardWork.keep(card.key, nothing ? undefined : { requestDigest, draft, kept, unsent });
  }, [card.key, draft, kept, requestDigest, unsent]);
  const write = useCallback((more: Partial<Unsent>) => {
    setUnsent((before) => ({ ...before, ...more }));
  }, []);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  const openEvidence = useCallback(() => {
    setEvidenceOpen(true);
  }, []);
  const sawName = useCallback(() => {
    setNameRead(true);
  }, []);
  const asked = `${card.origin.requestDigest} ${draft?.check.argsDigest ?? ""}`;
  useEffect(() => {
    type("");
  }, [asked]);
  // A new version of the arguments, an edit of them, or a value that was hidden, must be read again.
  const content = `${asked} ${[...revealed.keys()].join(" ")}`;
  const progress = useMemo<Progress>(
    () => ({ nameRead, readToEnd: readOf === content, evidenceOpen, revealed: new Set(revealed.keys()), typed }),
    [content, evidenceOpen, nameRead, readOf, revealed, typed],
  );

  const revealing = useRef(false);
  const revealAll = useCallback(async () => {
    if (revealing.current) return;
    revealing.current = true;
    try {
      for (const { reveal } of card.reveals) {
        if (revealed.has(reveal)) continue;
        // Nobody sees it any more.
        if (opened.current === null) return;
        // One after the other: each one is a row of the audit log.
        // oxlint-disable-next-line no-await-in-loop
        const value = await desk.call("reveal", { key: card.key, reveal });
        setRevealed((before) => new Map(before).set(reveal, value));
      }
    } catch (thrown) {
      setProblem(toCallError(thrown).message);
    } finally {
      revealing.current = false;
    }
  }, [card.key, card.reveals, desk, revealed]);

  const send = useCallback(
    async (verdict: Verdict, more: Partial<DecideArgs> = {}) => {
      if (busy) return;
      setBusy(true);
      setProblem(null);
      const error = await decide(card, {
        key: card.key,
        verdict,
        seenRequestDigest: card.origin.requestDigest,
        seenArgsDigest: card.origin.argsDigest,
        edited: null,
        seenEditDigest: null,
        message: null,
        answer: null,
        typed: progress.typed === "" ? null : progress.typed,
        revealed: [...progress.revealed],
        toEnd: progress.readToEnd,
        ...more,
      });
      setBusy(false);
      if (error === null) {
        const asItWas = opened.current === panel;
        if (asItWas) open("none");
        if (asItWas && panel !== "none") setUnsent(NOTHING);
        onSent(asItWas);
      } else {
        setProblem(error.message);
      }
    },
    [busy, card, decide, onSent, panel, progress],
  );

  const answer = useCallback((given: Answer) => send("respond", { answer: given }), [send]);
  const target = draft?.check.target ?? card.target;
  const missing = useMemo(() => missingStep({ ...card, target }, progress), [card, progress, target]);
  return {
    panel,
    open,
    progress,
    openEvidence,
    type,
    content,
    sawEnd,
    sawName,
    missing,
    target,
    revealed,
    revealAll,
    draft,
    setDraft,
    kept,
    keep,
    unsent,
    write,
    problem,
    busy,
    send,
    answer,
  };
};
