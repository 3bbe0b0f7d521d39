import { useQuery } from "@tanstack/react-query";
import { CommandText } from "../../components/CommandText";
import { Failed } from "../../components/Failed";
import { RawDialog } from "../../components/RawDialog";
import { RuleFromCard } from "../../components/rules/RuleFromCard";
import { Unread } from "../../components/Unread";
import { WhyDialog } from "../../components/why/WhyDialog";
import { useDesk } from "../../desk/DeskContext";
import { ActionBar, closedWords } from "./acts/ActionBar";
import { AnswerPanel } from "./acts/AnswerPanel";
import { DenyPanel } from "./acts/DenyPanel";
import { SnoozePanel } from "./acts/SnoozePanel";
import { WayPanel } from "./acts/WayPanel";
import { Body } from "./card/Body";
import { Head } from "./card/Head";
import { EditPanel } from "./edit/EditPanel";
import { AskedArea, Bottom, Slowed, TooSmall } from "./onScreen";
import { inPlace, OpenCardProvider, useOpenCard, type CardGiven } from "./openCard";
import { useCardCommands } from "./useCardCommands";

const CardView = (given: CardGiven) => {
  const now = useOpenCard(given);
  useCardCommands(now);
  const { card, acts, arming, pending, late, blocked, ready, close } = now;
  return (
    <OpenCardProvider value={now}>
      <article
        className="flex min-h-0 min-w-0 flex-1 flex-col overflow-clip"
        aria-label="Request"
        data-testid="card"
        data-key={card.key}
        data-state={card.state}
        data-armed={arming.armed && ready}
      >
        <Head card={card} onName={acts.sawName} />
        <AskedArea area={now.area} room={now.room}>
          {acts.panel === "edit" ? <EditPanel /> : <Body />}
        </AskedArea>
        {ready ? <TooSmall inView={now.inView} /> : null}
        {pending && now.slowed !== null ? <Slowed words={now.slowed} /> : null}
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
            <span className="inline-block first-letter:uppercase">{closedWords(card)}</span>. Nothing more can be sent
            from here; Esc closes it.
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
        {pending && !inPlace(acts.panel) ? <WayPanel /> : null}
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
            onDeny={(message) => void acts.send(acts.panel === "terminate" ? "terminate" : "deny", { message })}
          />
        ) : null}
        {acts.panel === "snooze" ? <SnoozePanel /> : null}
        {acts.panel === "answer" ? <AnswerPanel /> : null}
        {inPlace(acts.panel) ? null : <ActionBar />}
        <Bottom place={now.bottom} />
        {acts.panel === "raw" ? <RawDialog command="raw" requestKey={card.key} onClose={close} /> : null}
        {acts.panel === "why" ? <WhyDialog requestKey={card.key} onClose={close} /> : null}
        {acts.panel === "grant" ? <RuleFromCard card={card} onClose={close} /> : null}
      </article>
    </OpenCardProvider>
  );
};

interface CardPaneProps extends Omit<CardGiven, "card"> {
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
