import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { useCommand, useCovered, useWriting } from "../../commands/CommandContext";
import { Bounded } from "../../components/Bounded";
import { Button } from "../../components/Button";
import { Countdown } from "../../components/Countdown";
import { Kbd } from "../../components/Kbd";
import { RiskBadge } from "../../components/RiskBadge";
import { ProductionMark } from "../../components/ProductionMark";
import { ShownText } from "../../components/ShownText";
import { Found } from "../../components/Found";
import { Entries } from "../../components/Values";
import { CommandText } from "../../components/CommandText";
import { useBlocked, useDesk, useServerSecond } from "../../desk/DeskContext";
import type { Card, Shown, Verdict } from "../../ipc/generated";
import { mayApproveCard, stops } from "./mayDo";
import { DenyPanel } from "./acts/DenyPanel";
import { ApproveButton } from "./ApproveButton";
import { Effective, Warnings } from "./card/Sections";
import { differing } from "./differing";
import { useSeenEnd } from "./card/useSeenEnd";
import { AskedArea, Bottom, Slowed, TooSmall, useOnScreen } from "./onScreen";
import type { Picked } from "./selection";
import { missingStep, noProgress } from "./steps";
import { useHaste } from "./useHaste";
import { useApproveKey } from "./useApproveKey";
import { useArming } from "./useArming";
import type { SentView } from "./useSent";
import { Region } from "../../components/Region";
import { Failed } from "../../components/Failed";

const NOTHING = new Map<number, never>();
/** Nothing is read for longer before it may be approved. */
const READ_MOST_MS = 15_000;

/** Why a batch with this card cannot be approved; a denial is never kept back. */
const holdsBack = (card: Card, now: number): string | null => {
  if (stops(card)) return "is stopped by a finding: open it alone";
  if (card.reader.length > 0) return "was marked by the reader, a machine: open it alone";
  if (card.path !== "low") return "is decided alone";
  if (card.state !== "pending") return "is no longer waiting";
  if (now >= card.deadlineMs) return "is past its deadline";
  switch (missingStep(card, noProgress)) {
    case null:
      break;
    case "name":
      return "has a name too long to be seen here: open it alone";
    default:
      return "holds hidden characters: open it alone and reveal them (V)";
  }
  return mayApproveCard(card, false) ? null : "does not accept approvals here";
};

interface OneProps {
  readonly card: Card;
  /** The arguments in which it differs from the others. */
  readonly differs: Shown;
  readonly why: string | null;
}

const One = ({ card, differs, why }: OneProps) => (
  <section className="row-line py-4 last:border-0" data-testid="batch-card" data-key={card.key}>
    <h3 className="selectable mb-1 truncate font-mono text-[12.5px] text-text" data-testid="differs">
      {card.tool === null ? null : <ShownText text={card.tool.name} />}{" "}
      <span className="font-normal text-text-2">
        <ShownText text={differs} />
      </span>
    </h3>
    <header className="mb-2 flex flex-wrap items-baseline gap-x-2.5 text-[11.5px] text-text-3">
      <RiskBadge risk={card.risk} />
      {card.thread === null ? null : (
        <span>
          thread <ShownText text={card.thread} />
        </span>
      )}
      <span className="font-mono">{card.requestId}</span>
      <span className="ml-auto">
        <Countdown deadlineMs={card.deadlineMs} hasDeadline={card.hasDeadline} />
      </span>
    </header>
    <Found card={card} />
    <div className="mb-3">
      <Entries entries={card.args ?? []} revealed={NOTHING} label="Arguments" findings={card.findings} />
    </div>
    {card.says.map((said) => (
      <p key={said.field} className="selectable mt-0 mb-2 text-text-2">
        <span className="mr-1.5 rounded border border-line px-1 text-[10.5px] text-text-3">says</span>
        <ShownText text={said.text} block />
      </p>
    ))}
    <Warnings card={card} revealed={NOTHING} />
    <Effective groups={card.effective} revealed={NOTHING} />
    {why === null ? null : (
      <p role="note" className="m-0 text-warn">
        This one {why}.
      </p>
    )}
  </section>
);

interface BatchPaneProps {
  readonly picked: Picked;
  /** How many were selected with them and no longer wait. */
  readonly left: number;
  readonly sent: SentView;
  /** These were sent; what was selected meanwhile is not among them. */
  readonly onAnswered: (keys: readonly string[]) => void;
  readonly onClear: () => void;
}

/** Several calls of one tool and agent, each shown whole, for one answer. Each gets a decision of its own. */
export const BatchPane = ({ picked, left, sent, onAnswered, onClear }: BatchPaneProps) => {
  const desk = useDesk();
  const now = useServerSecond();
  const blocked = useBlocked();
  const covered = useCovered();
  const [denying, setDenying] = useState(false);
  const [reason, setReason] = useState("");
  const busy = sent.sending;
  const [stopped, setStopped] = useState<string | null>(null);
  const [read, setRead] = useState("");
  const found = useQueries({
    queries: picked.map((key) => ({ queryKey: ["card", key], queryFn: () => desk.call("card", { key }) })),
  });
  const cards = found.map((query) => query.data).filter((card): card is Card => card !== undefined);
  const lines = differing(cards);
  const error = found.find((query) => query.error !== null)?.error ?? null;
  const whole = cards.length === picked.length;
  // What is on screen: another card, or another version of one, disarms.
  const content = whole ? cards.map((card) => `${card.key} ${card.origin.requestDigest} ${card.state}`).join("\n") : "";
  const end = useSeenEnd<HTMLDivElement>(content, () => {
    setRead(content);
  });
  const { area, room, bottom, inView } = useOnScreen(content);
  // Its end was a jump away: what came into view then must be still, too.
  const arming = useArming(
    content === "" ? null : `${content} ${read === content}`,
    !covered && !denying && !busy && inView === true,
    area,
  );
  const readMs = Math.min(
    cards.reduce((sum, card) => sum + card.readMs, 0),
    READ_MOST_MS,
  );
  const { slowed, note } = useHaste(readMs, arming.frontMs);
  const faulty = cards.filter((card) => holdsBack(card, now) !== null).length;
  const ready =
    whole && faulty === 0 && read === content && blocked === null && slowed === null && !busy && !denying && !covered;

  const send = async (verdict: Verdict, message: string | null): Promise<void> => {
    if (busy) return;
    setStopped(null);
    const waiting = cards.filter((one) => one.state === "pending");
    // All of them were in front together: each had its share of the time.
    const frontMs = Math.round(arming.frontMs() / Math.max(waiting.length, 1));
    // Each is signed separately; the list shows what became of each.
    const { begun } = await sent.decideAll(waiting, (card) => ({
      key: card.key,
      verdict,
      seenRequestDigest: card.origin.requestDigest,
      seenArgsDigest: card.origin.argsDigest,
      edited: null,
      seenEditDigest: null,
      message,
      answer: null,
      typed: null,
      revealed: [],
      frontMs,
      toEnd: read === content,
    }));
    for (const card of waiting.slice(0, begun)) note(card, frontMs);
    if (begun < waiting.length)
      setStopped(`Stopped: ${begun} of ${waiting.length} were sent; the others are still waiting.`);
    setDenying(false);
    setReason("");
    onAnswered(waiting.slice(0, begun).map((card) => card.key));
  };
  useWriting(denying);
  const approveKey = useApproveKey("low");
  useCommand(approveKey, (press) => {
    if (ready && arming.accepts(press)) void send("approve", null);
  });
  useCommand(
    "deny",
    () => {
      setDenying(true);
    },
    cards.length > 0 && blocked === null,
  );
  useCommand("back", () => {
    if (covered) return false;
    if (busy) sent.stop();
    else if (denying) setDenying(false);
    else onClear();
    return true;
  });

  const [first] = cards;
  return (
    <article
      className="flex min-h-0 min-w-0 flex-1 flex-col overflow-clip"
      aria-label="Several requests"
      data-testid="batch"
      data-count={picked.length}
      data-armed={arming.armed && ready}
    >
      <header className="shrink-0 border-b border-line px-7 pt-[18px] pb-3.5">
        <div className="mb-1.5 text-xs text-text-3">
          {first === undefined ? (
            ""
          ) : (
            <>
              <ProductionMark marked={first.production} />
              workspace <em className="text-text-2 not-italic">{first.workspace}</em> / agent{" "}
              <em className="text-text-2 not-italic">{first.agent}</em>
            </>
          )}
        </div>
        <Bounded className="max-h-[76px]">
          <h2 className="selectable m-0 text-xl/tight font-semibold">
            {picked.length} {picked.length === 1 ? "call" : "calls"} of{" "}
            <span className="font-mono">
              {first?.tool === undefined || first.tool === null ? "…" : <ShownText text={first.tool.name} />}
            </span>
          </h2>
        </Bounded>
        <p className="mt-2 mb-0 text-text-2">
          One answer for all, sent as {picked.length === 1 ? "one decision" : `${picked.length} separate decisions`}.
        </p>
        {left === 0 || busy ? null : (
          <p role="status" className="mt-1 mb-0 text-warn" data-testid="batch-left">
            {left} of {picked.length + left} selected calls {left === 1 ? "was" : "were"} answered, expired, snoozed or
            marked by the reader meanwhile, and {left === 1 ? "is" : "are"} left out.
          </p>
        )}
      </header>
      <AskedArea area={area} room={room}>
        <Region label="What is asked" className="flex-1 px-7">
          <Failed error={error} />
          {cards.map((card) => (
            <One key={card.key} card={card} differs={lines.get(card.key) ?? []} why={holdsBack(card, now)} />
          ))}
          <div ref={end} data-place="end" className="h-px" aria-hidden="true" />
        </Region>
      </AskedArea>
      {ready ? <TooSmall inView={inView} /> : null}
      {slowed === null ? null : <Slowed words={slowed} />}
      {blocked === null ? null : (
        <p role="status" className="m-0 border-t border-bad-line bg-bad-bg px-7 py-2 text-bad">
          <CommandText text={blocked} />
        </p>
      )}
      {stopped === null ? null : (
        <p
          role="status"
          className="m-0 border-t border-warn-line bg-warn-bg px-7 py-2 text-warn-text"
          data-testid="stopped"
        >
          {stopped}
        </p>
      )}
      {denying ? (
        <DenyPanel
          stops={false}
          canStop={false}
          busy={busy}
          reason={reason}
          onReason={setReason}
          onClose={() => {
            setDenying(false);
          }}
          onDeny={(message) => void send("deny", message)}
        />
      ) : (
        <div
          className="flex min-h-[63px] items-center gap-2.5 border-t border-line bg-panel px-7 py-3"
          role="toolbar"
          aria-label="Decide all"
        >
          <Button
            tone="deny"
            disabled={busy || cards.length === 0 || blocked !== null}
            onClick={() => {
              setDenying(true);
            }}
          >
            Deny all… <Kbd command="deny" quiet />
          </Button>
          <Button tone="quiet" onClick={busy ? sent.stop : onClear}>
            {busy ? "Stop" : "Unselect"} <kbd className="kbd">Esc</kbd>
          </Button>
          <span className="ml-auto text-text-2">
            {busy
              ? "Sending…"
              : !whole
                ? "Reading the requests…"
                : faulty > 0
                  ? `${faulty} of them ${faulty === 1 ? "blocks" : "block"} the others`
                  : read === content
                    ? ""
                    : "Read them to their end first"}
          </span>
          <ApproveButton
            label={`Approve all ${picked.length}`}
            command={approveKey}
            arming={arming}
            ready={ready}
            onApprove={() => void send("approve", null)}
          />
        </div>
      )}
      <Bottom place={bottom} />
    </article>
  );
};
