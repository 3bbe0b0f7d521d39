import { Ellipsis } from "lucide-react";
import { Button } from "../../../components/Button";
import { Kbd } from "../../../components/Kbd";
import { Menu } from "../../../components/over";
import { useServerNow } from "../../../desk/DeskContext";
import type { Card, Verdict } from "../../../ipc/generated";
import { ApproveButton } from "../ApproveButton";
import { pastOf } from "../../../components/verdict";
import { useApproveKey } from "../useApproveKey";
import { mayAnswer, mayApproveCard, mayEdit } from "../mayDo";
import { useCard } from "../openCard";

const MORE: readonly (readonly [Verdict, string])[] = [
  ["skip", "Skip without denying"],
  ["escalate", "Escalate to the agent’s next approver"],
];

const labelOf = (card: Card, edited: boolean): string => {
  const what = card.votes === null ? "Approve" : "Vote to approve";
  return edited ? `${what} the edit` : what;
};

/** Which line of the menu has the keyboard must be visible at a glance: Enter sends it. */
const ITEM =
  "flex items-center justify-between gap-4 rounded px-3 py-1.5 -outline-offset-2 data-[disabled]:opacity-45 " +
  "data-[highlighted]:bg-panel data-[highlighted]:outline-2 data-[highlighted]:outline-accent";

const HELD_MS = 100;

const Held = ({ releaseMs, onUndo }: { readonly releaseMs: number; readonly onUndo: () => void }) => {
  const left = Math.max(releaseMs - useServerNow(HELD_MS), 0);
  return (
    <>
      <b className="font-semibold text-warn-text" data-testid="held">
        Held, not sent
      </b>
      <span className="font-mono text-text-2">{(left / 1_000).toFixed(1)} s</span>
      <Button className="ml-auto" onClick={onUndo}>
        Undo <Kbd command="undo" />
      </Button>
    </>
  );
};

const CLOSED: Record<Card["state"], string> = {
  pending: "",
  holding: "Held, not sent",
  queued: "Signed and being sent to the bus; not yet in force",
  decided: "Decided",
  expired: "Expired: the agent has gone on without it",
  withdrawn: "Withdrawn: the agent no longer wants the answer",
  rejected: "Rejected: not a valid request",
  void: "Void: the stored decision does not verify, so the agent denies",
};

/** Why nothing can be done with a card that no longer waits. */
export const closedWords = (card: Card): string =>
  card.state === "decided" && card.decision !== null ? pastOf(card.decision.verdict) : CLOSED[card.state];

/** What can be done with the card; every button names its key. */
export const ActionBar = () => {
  const { card, acts, arming, ready, approve, undo, ...open } = useCard();
  // Why no verdict can be sent now is said above the bar.
  const blocked = open.blocked !== null;
  const command = useApproveKey(card.path);
  const bar =
    "flex min-h-[63px] flex-wrap items-center gap-2.5 border-t border-line bg-panel px-7 py-[12px] max-lg:gap-2 " +
    "short:min-h-0 short:gap-1.5 short:px-4 short:py-1.5 short:[&_button]:gap-1.5 short:[&_button]:px-2 " +
    "short:[&_button]:py-1 slim:gap-1 slim:px-2 slim:[&_button]:px-1.5 slim:[&_kbd]:hidden";
  if (card.state === "holding" && card.hold !== null) {
    return (
      <div className={bar}>
        <Held releaseMs={card.hold.releaseMs} onUndo={undo} />
      </div>
    );
  }
  if (card.state !== "pending") {
    return (
      <div className={bar}>
        <span className="inline-block text-text-2 first-letter:uppercase" data-testid="closed">
          {closedWords(card)}
        </span>
      </div>
    );
  }
  const edited = acts.draft !== null;
  const more = MORE.filter(([verdict]) => card.allowed.includes(verdict));
  return (
    <div className={bar} role="toolbar" aria-label="Decide">
      <Button
        tone="deny"
        disabled={blocked}
        onClick={() => {
          acts.open("deny");
        }}
      >
        Deny… <Kbd command="deny" quiet />
      </Button>
      {mayEdit(card) ? (
        <Button
          onClick={() => {
            acts.open("edit");
          }}
        >
          Edit <Kbd command="edit" />
        </Button>
      ) : null}
      {mayAnswer(card) ? (
        <Button
          disabled={blocked}
          onClick={() => {
            acts.open("answer");
          }}
        >
          Answer <Kbd command="answer" />
        </Button>
      ) : null}
      {card.kind === "tool_call" ? (
        <Button
          onClick={() => {
            acts.open("grant");
          }}
        >
          Rule <Kbd command="grant" />
        </Button>
      ) : null}
      {/* Within the bar, and nothing else hidden: whoever reads the page with a program still finds it. */}
      <Menu.Root modal={false}>
        <Menu.Trigger asChild>
          <Button tone="quiet" aria-label="More">
            <Ellipsis size={16} aria-hidden="true" />
          </Button>
        </Menu.Trigger>
        <Menu.Content
          sideOffset={6}
          align="start"
          className="z-20 rounded-lg border border-line bg-raised p-1 shadow-lg"
        >
          {more.map(([verdict, label]) => (
            <Menu.Item key={verdict} disabled={blocked} className={ITEM} onSelect={() => void acts.send(verdict)}>
              {label}
            </Menu.Item>
          ))}
          <Menu.Item
            disabled={blocked}
            className={`${ITEM} text-bad`}
            onSelect={() => {
              acts.open("terminate");
            }}
          >
            Deny and stop the agent… <Kbd command="terminate" />
          </Menu.Item>
          <Menu.Item
            className={ITEM}
            onSelect={() => {
              acts.open("snooze");
            }}
          >
            Snooze… <Kbd command="snooze" />
          </Menu.Item>
          <Menu.Item
            className={ITEM}
            onSelect={() => {
              acts.open("raw");
            }}
          >
            Bytes as received… <Kbd command="raw" />
          </Menu.Item>
          <Menu.Item
            className={ITEM}
            onSelect={() => {
              acts.open("why");
            }}
          >
            Why was I asked… <Kbd command="why" />
          </Menu.Item>
        </Menu.Content>
      </Menu.Root>
      {/* Where it does not fit beside them it stays at its end of the bar, and never comes to lie under the
          denial. */}
      <div className="ml-auto flex items-center gap-2.5">
        {acts.busy ? <span className="text-text-2">Sending…</span> : null}
        {edited ? (
          <Button
            tone="quiet"
            onClick={() => {
              acts.setDraft(null);
            }}
          >
            Discard edit <kbd className="kbd">Esc</kbd>
          </Button>
        ) : null}
        {mayApproveCard(card, edited) ? (
          <ApproveButton
            label={labelOf(card, edited)}
            command={command}
            arming={arming}
            ready={ready}
            onApprove={approve}
          />
        ) : card.kind !== "tool_call" ? null : (
          <span className="text-text-3" data-testid="no-approval">
            {card.votes?.count.mine === true
              ? "Your vote is recorded. You can still deny."
              : "This agent does not accept approvals here"}
          </span>
        )}
      </div>
    </div>
  );
};
