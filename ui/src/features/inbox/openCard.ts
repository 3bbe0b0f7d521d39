/** The card that is open, and what can be done on it now: for everything that is drawn of it. */
import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type RefObject,
} from "react";
import { useCovered, useWriting } from "../../commands/CommandContext";
import { useBlocked, useServerSecond } from "../../desk/DeskContext";
import type { Card, DecideArgs } from "../../ipc/generated";
import { mayApproveCard } from "./mayDo";
import { useOnScreen, type OnScreen } from "./onScreen";
import { fronts } from "./unsaved";
import { useArming, type ArmingView } from "./useArming";
import { useCardActs, type CardActs, type Panel } from "./useCardActs";
import type { SentView } from "./useSent";
import { useHaste } from "./useHaste";
import { useVersion } from "./useVersion";

export interface CardGiven {
  readonly card: Card;
  readonly sent: SentView;
  /** A verdict was taken; false where the operator has gone on, or opened something else, before the answer came. */
  readonly onSent: (moveOn: boolean) => void;
  /** Something is open or typed on the card. */
  readonly onEngaged: (is: boolean) => void;
  /** What was open over the card, or in the place of its acts, is closed. */
  readonly onFree: () => void;
  readonly onUndo: () => void;
  /** Hides the card until a time, server time. */
  readonly onSnooze: (untilMs: number) => void;
}

export interface OpenCard extends OnScreen {
  readonly card: Card;
  readonly acts: CardActs;
  readonly arming: ArmingView;
  readonly pending: boolean;
  readonly late: boolean;
  /** Why no verdict can be sent now. */
  readonly blocked: string | null;
  /** It waits, and nothing lies over it. */
  readonly open: boolean;
  /** Everything before an approval is done. */
  readonly ready: boolean;
  /** Why it is armed only after the time that it takes to read; null where nothing slows it down. */
  readonly slowed: string | null;
  readonly approve: () => void;
  /** The field that a critical call's name is typed into. */
  readonly field: RefObject<HTMLInputElement | null>;
  /** The option of a question that a digit chose. */
  readonly option: number | null;
  readonly choose: (option: number | null) => void;
  /** Closes what is open of the card. */
  readonly close: () => void;
  readonly undo: () => void;
  readonly snooze: (untilMs: number) => void;
}

const OpenCardContext = createContext<OpenCard | null>(null);

export const OpenCardProvider = OpenCardContext.Provider;

export const useCard = (): OpenCard => {
  const open = useContext(OpenCardContext);
  if (open === null) throw new Error("no card is open here");
  return open;
};

const FEW_MESSAGES = 2;

/** These take the place of the action bar; the others lie over the desk. */
export const inPlace = (panel: Panel): boolean =>
  panel === "deny" || panel === "terminate" || panel === "answer" || panel === "edit" || panel === "snooze";

/** Opens a card: what was done on it before goes on, and its arming begins. */
export const useOpenCard = ({ card, sent, onSent, onEngaged, onFree, onUndo, onSnooze }: CardGiven): OpenCard => {
  const front = useRef<() => number>(() => 0);
  const total = useCallback(() => front.current(), []);
  const { slowed, note } = useHaste(card.readMs, total);
  const { decide } = sent;
  const looked = useCallback(
    async (one: Card, args: DecideArgs) => {
      const frontMs = total();
      const error = await decide(one, { ...args, frontMs });
      if (error === null) note(one, frontMs);
      return error;
    },
    [decide, note, total],
  );
  const acts = useCardActs(card, looked, onSent);
  const field = useRef<HTMLInputElement>(null);
  useWriting(inPlace(acts.panel));
  const blocked = useBlocked();
  const covered = useCovered();
  const late = useServerSecond() >= card.deadlineMs;
  // What a reader adds changes nothing of what is asked; parts of the card keep their identity while they are equal.
  const parts = Object.values({ ...card, reader: null });
  const version = useVersion(...parts, acts.draft, acts.content, acts.progress.evidenceOpen, acts.missing);
  const screen = useOnScreen(`${acts.content} ${acts.panel === "edit"}`);
  const { area, inView } = screen;
  const pending = card.state === "pending";
  const watching = acts.panel === "none" && !covered;
  const arming = useArming(`${card.key} ${version}`, watching && inView === true, area);
  const { frontMs } = arming;
  useLayoutEffect(() => {
    const before = fronts.of(card.key) ?? 0;
    front.current = () => before + frontMs();
    return () => {
      fronts.keep(card.key, front.current());
    };
  }, [card.key, frontMs]);
  const edited = acts.draft !== null;
  const open = pending && !late && !acts.busy && watching;
  const ready = open && blocked === null && acts.missing === null && slowed === null && mayApproveCard(card, edited);
  const { draft, openEvidence, send } = acts;
  const engaged = acts.panel !== "none" || draft !== null || acts.progress.typed !== "";
  useLayoutEffect(() => {
    onEngaged(engaged);
    return () => {
      onEngaged(false);
    };
  }, [engaged, onEngaged]);

  const was = useRef(acts.panel);
  useEffect(() => {
    if (was.current !== "none" && acts.panel === "none") onFree();
    was.current = acts.panel;
  }, [acts.panel, onFree]);

  useEffect(() => {
    if (card.history.length <= FEW_MESSAGES) openEvidence();
  }, [card.history.length, openEvidence]);

  const approve = useCallback(() => {
    if (draft === null) void send("approve");
    else void send("modify", { edited: draft.json, seenEditDigest: draft.check.argsDigest });
  }, [draft, send]);

  const [option, setOption] = useState<number | null>(null);
  useEffect(() => {
    if (acts.panel !== "answer") setOption(null);
  }, [acts.panel]);
  return {
    ...screen,
    card,
    acts,
    arming,
    pending,
    late,
    blocked,
    slowed,
    open,
    ready,
    approve,
    field,
    option,
    choose: setOption,
    close: () => {
      acts.open("none");
    },
    undo: onUndo,
    snooze: onSnooze,
  };
};
