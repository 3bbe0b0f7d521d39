import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { RawDialog } from "../../components/RawDialog";
import { useCommand, useCovered, useWriting } from "../../commands/CommandContext";
import { CommandText } from "../../components/CommandText";
import { optionOf } from "../../hotkeys";
import { useBlocked, useDesk, useServerSecond } from "../../desk/DeskContext";
import type { Card, DecideArgs } from "../../ipc/generated";
import { ActionBar, closedWords, mayAnswer, mayApproveCard, mayEdit } from "./acts/ActionBar";
import { AnswerPanel } from "./acts/AnswerPanel";
import { DenyPanel } from "./acts/DenyPanel";
import { SnoozePanel } from "./acts/SnoozePanel";
import { WayPanel } from "./acts/WayPanel";
import { RuleFromCard } from "../../components/rules/RuleFromCard";
import { WhyDialog } from "../../components/why/WhyDialog";
import { Body } from "./card/Body";
import { Head } from "./card/Head";
import { EditPanel } from "./edit/EditPanel";
import { AskedArea, Bottom, TooSmall, useOnScreen } from "./onScreen";
import type { StepId } from "./steps";
import { fronts } from "./unsaved";
import { useApproveKey } from "./useApproveKey";
import { useArming } from "./useArming";
import { useCardActs, type Panel } from "./useCardActs";
import type { SentView } from "./useSent";
import { useVersion } from "./useVersion";
import { Failed } from "../../components/Failed";
import { Unread } from "../../components/Unread";

interface CardViewProps {
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

const FEW_MESSAGES = 2;

/** These take the place of the action bar; the others lie over the desk. */
const inPlace = (panel: Panel): boolean =>
  panel === "deny" || panel === "terminate" || panel === "answer" || panel === "edit" || panel === "snooze";

const CardView = ({ card, sent, onSent, onEngaged, onFree, onUndo, onSnooze }: CardViewProps) => {
  const front = useRef<() => number>(() => 0);
  const { decide } = sent;
  const looked = useCallback(
    (one: Card, args: DecideArgs) => decide(one, { ...args, frontMs: front.current() }),
    [decide],
  );
  const acts = useCardActs(card, looked, onSent);
  const field = useRef<HTMLInputElement>(null);
  const approveKey = useApproveKey(card.path);
  useWriting(inPlace(acts.panel));
  const blocked = useBlocked();
  const covered = useCovered();
  const late = useServerSecond() >= card.deadlineMs;
  const version = useVersion(card, acts.draft, acts.content, acts.progress.evidenceOpen, acts.missing);
  const { area, room, bottom, inView } = useOnScreen();
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
  const ready = open && blocked === null && acts.missing === null && mayApproveCard(card, edited);
  const { draft, missing, openEvidence, send, setDraft } = acts;
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

  const goTo = (step: StepId): void => {
    if (step === "name") document.querySelector("#name-end")?.scrollIntoView({ block: "nearest" });
    if (step === "read") document.querySelector("#arguments-end")?.scrollIntoView({ block: "end" });
    if (step === "evidence") openEvidence();
    if (step === "type") field.current?.focus();
  };

  useCommand(
    "approve",
    (press) => {
      if (ready && approveKey === "approve" && arming.accepts(press)) approve();
    },
    pending,
  );
  useCommand(
    "approvePath",
    (press) => {
      if (approveKey !== "approvePath" || !open) return;
      if (missing !== null) goTo(missing);
      else if (ready && arming.accepts(press)) approve();
    },
    pending,
  );
  useCommand(
    "deny",
    () => {
      acts.open("deny");
    },
    pending && blocked === null,
  );
  useCommand(
    "terminate",
    () => {
      acts.open("terminate");
    },
    pending && blocked === null,
  );
  useCommand(
    "edit",
    () => {
      acts.open("edit");
    },
    pending && mayEdit(card),
  );
  const [option, setOption] = useState<number | null>(null);
  useEffect(() => {
    if (acts.panel !== "answer") setOption(null);
  }, [acts.panel]);
  useCommand(
    "answer",
    () => {
      acts.open("answer");
    },
    pending && blocked === null && mayAnswer(card),
  );
  useCommand(
    "option",
    ({ stroke }) => {
      const index = stroke === undefined ? null : optionOf(stroke);
      if (index !== null && index >= (card.question?.options.length ?? 0)) return false;
      setOption(index);
      acts.open("answer");
      return true;
    },
    pending && blocked === null && mayAnswer(card) && card.question !== null,
  );
  useCommand(
    "snooze",
    () => {
      acts.open("snooze");
    },
    pending,
  );
  useCommand("reveal", () => void acts.revealAll(), card.reveals.length > 0);
  useCommand("raw", () => {
    acts.open("raw");
  });
  useCommand("why", () => {
    acts.open("why");
  });
  useCommand(
    "grant",
    () => {
      acts.open("grant");
    },
    card.kind === "tool_call",
  );
  useCommand("back", () => {
    const typing = field.current !== null && document.activeElement === field.current;
    if (covered || (acts.panel === "none" && draft === null && !typing)) return false;
    if (acts.panel !== "none") acts.open("none");
    else if (!typing) setDraft(null);
    field.current?.blur();
    return true;
  });

  const close = (): void => {
    acts.open("none");
  };
  return (
    <article
      className="flex min-h-0 min-w-0 flex-1 flex-col overflow-clip"
      aria-label="Request"
      data-testid="card"
      data-key={card.key}
      data-state={card.state}
      data-armed={arming.armed && ready}
    >
      <Head card={card} onName={acts.sawName} />
      <AskedArea area={area} room={room}>
        {acts.panel === "edit" ? (
          <EditPanel
            card={card}
            draft={draft}
            kept={acts.kept}
            onKeep={acts.keep}
            onClose={close}
            onDraft={(next) => {
              setDraft(next);
              close();
            }}
          />
        ) : (
          <Body card={card} acts={acts} />
        )}
      </AskedArea>
      {ready ? <TooSmall inView={inView} /> : null}
      {pending && (blocked !== null || late) ? (
        <p role="status" className="m-0 border-t border-bad-line bg-bad-bg px-7 py-2 text-bad">
          {late ? "Its deadline has passed: it can no longer be approved." : <CommandText text={blocked ?? ""} />}
        </p>
      ) : null}
      {/* What is typed stays under the hands that type it, though nothing can become of it. */}
      {!pending && inPlace(acts.panel) ? (
        <p
          role="alert"
          className="m-0 border-t border-warn-line bg-warn-bg px-7 py-2 text-warn-text"
          data-testid="too-late"
        >
          <span className="inline-block first-letter:uppercase">{closedWords(card)}</span>. Nothing can be sent from
          here any more; Esc closes it.
        </p>
      ) : null}
      {acts.problem === null ? null : (
        <p
          role="alert"
          className="m-0 max-h-24 shrink-0 overflow-auto border-t border-bad-line bg-bad-bg px-7 py-2 text-bad"
          data-testid="problem"
        >
          {acts.problem}
        </p>
      )}
      {pending && !inPlace(acts.panel) ? <WayPanel card={card} acts={acts} field={field} /> : null}
      {acts.panel === "deny" || acts.panel === "terminate" ? (
        <DenyPanel
          stops={acts.panel === "terminate"}
          canStop={card.allowed.includes("terminate")}
          busy={acts.busy}
          reason={acts.unsent.reason}
          onReason={(reason) => {
            acts.write({ reason });
          }}
          onClose={close}
          onDeny={(message) => void send(acts.panel === "terminate" ? "terminate" : "deny", { message })}
        />
      ) : null}
      {acts.panel === "snooze" ? <SnoozePanel card={card} onSnooze={onSnooze} onClose={close} /> : null}
      {acts.panel === "answer" ? (
        <AnswerPanel
          card={card}
          busy={acts.busy}
          unsent={acts.unsent}
          option={option}
          onWrite={acts.write}
          onAnswer={(answer) => void acts.answer(answer)}
          onClose={close}
        />
      ) : null}
      {inPlace(acts.panel) ? null : (
        <ActionBar
          card={card}
          acts={acts}
          arming={arming}
          ready={ready}
          blocked={blocked !== null}
          onApprove={approve}
          onUndo={onUndo}
        />
      )}
      <Bottom place={bottom} />
      {acts.panel === "raw" ? <RawDialog command="raw" requestKey={card.key} onClose={close} /> : null}
      {acts.panel === "why" ? <WhyDialog requestKey={card.key} onClose={close} /> : null}
      {acts.panel === "grant" ? <RuleFromCard card={card} onClose={close} /> : null}
    </article>
  );
};

interface CardPaneProps extends Omit<CardViewProps, "card"> {
  readonly requestKey: string;
}

/** The card under the cursor. It stays until the operator moves on, whatever arrives. */
export const CardPane = ({ requestKey, ...rest }: CardPaneProps) => {
  const desk = useDesk();
  const { data, error } = useQuery({
    queryKey: ["card", requestKey],
    queryFn: () => desk.call("card", { key: requestKey }),
  });
  if (data !== undefined)
    return (
      <>
        <Unread error={error} className="m-0 border-b border-bad-line bg-bad-bg px-7 py-1.5" />
        <CardView card={data} {...rest} />
      </>
    );
  return (
    <div className="grid flex-1 place-items-center text-text-3">
      {error === null ? "Reading the request…" : <Failed error={error} className="max-w-prose px-7" />}
    </div>
  );
};
