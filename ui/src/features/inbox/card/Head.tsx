import { Bounded } from "../../../components/Bounded";
import { Countdown } from "../../../components/Countdown";
import { ProductionMark } from "../../../components/ProductionMark";
import { RiskBadge } from "../../../components/RiskBadge";
import { ShownText } from "../../../components/ShownText";
import type { Card, Shown } from "../../../ipc/generated";
import { useSeenEnd } from "./useSeenEnd";

const KIND: Record<Card["kind"], string> = { tool_call: "tool call", question: "question", form: "form" };

const Crumb = ({ name, value }: { readonly name: string; readonly value: Shown | string | null }) =>
  value === null ? null : (
    <span>
      {name}{" "}
      <em className="text-text-2 not-italic">{typeof value === "string" ? value : <ShownText text={value} />}</em>
    </span>
  );

/** What runs. Whoever approves has seen the end of it. */
const ToolName = ({ name, onSeen }: { readonly name: Shown; readonly onSeen: () => void }) => {
  const end = useSeenEnd<HTMLSpanElement>("", onSeen);
  return (
    <>
      <ShownText text={name} />
      <span ref={end} id="name-end" data-place="name" className="inline-block size-px" aria-hidden="true" />
    </>
  );
};

interface HeadProps {
  readonly card: Card;
  /** The end of the tool's name was on screen. */
  readonly onName: () => void;
}

/** Tool, risk and time left. However much an agent writes, most of the window belongs to the arguments. */
export const Head = ({ card, onName }: HeadProps) => (
  <header
    className={`flex max-h-[36vh] shrink-0 short:max-h-[22vh] flex-col overflow-clip short:overflow-y-auto border-b
        border-line pt-[18px] pr-7 pb-3.5 short:py-1.5 short:pr-4
        ${card.path === "critical" ? "border-l-[3px] border-l-crit pl-[25px] short:pl-[13px]" : "pl-7 short:pl-4"}`}
  >
    <Bounded className="mb-1.5 max-h-[34px] shrink-0 short:mb-0 short:max-h-[17px]" name="crumbs">
      <div className="flex flex-wrap gap-x-1.5 text-xs text-text-3">
        <ProductionMark marked={card.production} />
        <Crumb name="workspace" value={card.workspace} /> / <Crumb name="agent" value={card.agent} />
        {card.thread === null ? null : (
          <>
            / <Crumb name="thread" value={card.thread} />
          </>
        )}
        {card.run === null ? null : (
          <>
            / <Crumb name="run" value={card.run} />
          </>
        )}
        {card.origin.call === null ? null : (
          <>
            / <Crumb name="call" value={card.origin.call} />
          </>
        )}
      </div>
    </Bounded>
    <div className="flex shrink-0 flex-wrap items-center gap-x-2.5 gap-y-1">
      <Bounded className="max-h-[min(76px,10vh)] min-w-0" name="name">
        <h2 className="selectable m-0 font-mono text-xl/tight font-semibold short:text-[15px]">
          {card.tool === null ? (
            <span className="font-sans capitalize">{KIND[card.kind]}</span>
          ) : (
            <ToolName name={card.tool.name} onSeen={onName} />
          )}
        </h2>
      </Bounded>
      <RiskBadge risk={card.risk} large />
      {card.unknownRisk === null ? null : (
        <Bounded className="max-h-[17px] min-w-0 text-xs text-text-3">
          the agent wrote <ShownText text={card.unknownRisk} />
        </Bounded>
      )}
      {card.path === "critical" && card.risk !== "critical" ? (
        <span className="text-xs font-semibold text-crit">irreversible</span>
      ) : null}
      {card.state === "pending" || card.state === "holding" || card.state === "queued" ? (
        <span className="ml-auto">
          <Countdown deadlineMs={card.deadlineMs} hasDeadline={card.hasDeadline} large />
        </span>
      ) : null}
    </div>
  </header>
);
