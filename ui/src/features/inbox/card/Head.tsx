import { useLayoutEffect, useRef, useState } from "react";
import { Countdown } from "../../../components/Countdown";
import { ProductionMark } from "../../../components/ProductionMark";
import { RiskBadge } from "../../../components/RiskBadge";
import { ShownText } from "../../../components/ShownText";
import type { Card, Shown } from "../../../ipc/generated";

const KIND: Record<Card["kind"], string> = { tool_call: "tool call", question: "question", form: "form" };

const Crumb = ({ name, value }: { readonly name: string; readonly value: Shown | string | null }) =>
  value === null ? null : (
    <span className="whitespace-nowrap">
      {name} <em className="text-text-2 not-italic">{typeof value === "string" ? value : <ShownText text={value} />}</em>
    </span>
  );

const FIELD: Record<string, string> = {
  preview: "preview", title: "title", explanation: "explains", command: "command", description: "about this tool",
};

/** One field of the agent's words. A long one scrolls, by keyboard alone too. */
const Said = ({ agent, field, text }: { readonly agent: string; readonly field: string; readonly text: Shown }) => {
  const place = useRef<HTMLParagraphElement>(null);
  const [scrolls, setScrolls] = useState(false);
  useLayoutEffect(() => {
    const look = (): void => { setScrolls(place.current !== null && place.current.scrollHeight > place.current.clientHeight); };
    look();
    window.addEventListener("resize", look);
    return () => { window.removeEventListener("resize", look); };
  }, [text]);
  return (
    <p ref={place} className="selectable mt-2 mb-0 max-h-32 max-w-[760px] overflow-auto text-[14.5px]" data-testid="said" {...(scrolls ? { tabIndex: 0 } : {})}>
      <span className="mr-1.5 rounded border border-line px-1.5 py-px align-[2px] text-[11.5px] text-text-3 select-none">
        {agent} {FIELD[field] === undefined ? "says" : FIELD[field]}
      </span>
      <ShownText text={text} block />
    </p>
  );
};

/** Tool, risk, time left, and what the agent says: marked as its words, never as fact. */
export const Head = ({ card }: { readonly card: Card }) => (
  <header className={`border-b border-line pt-[18px] pr-7 pb-3.5 ${card.path === "critical" ? "border-l-[3px] border-l-crit pl-[25px]" : "pl-7"}`}>
    <div className="mb-1.5 flex flex-wrap gap-x-1.5 text-xs text-text-3">
      <ProductionMark marked={card.production} />
      <Crumb name="workspace" value={card.workspace} /> / <Crumb name="agent" value={card.agent} />
      {card.thread === null ? null : <>/ <Crumb name="thread" value={card.thread} /></>}
      {card.run === null ? null : <>/ <Crumb name="run" value={card.run} /></>}
      {card.origin.call === null ? null : <>/ <Crumb name="call" value={card.origin.call} /></>}
    </div>
    <div className="flex items-center gap-2.5">
      <h2 className="selectable m-0 min-w-0 font-mono text-xl/tight font-semibold">
        {card.tool === null ? <span className="font-sans capitalize">{KIND[card.kind]}</span> : <ShownText text={card.tool.name} />}
      </h2>
      <RiskBadge risk={card.risk} large />
      {card.unknownRisk === null ? null : (
        <span className="text-xs text-text-3">the agent wrote <ShownText text={card.unknownRisk} /></span>
      )}
      {card.path === "critical" && card.risk !== "critical" ? <span className="text-xs font-semibold text-crit">irreversible</span> : null}
      {card.state === "pending" || card.state === "holding" || card.state === "queued" ? (
        <span className="ml-auto"><Countdown deadlineMs={card.deadlineMs} hasDeadline={card.hasDeadline} large /></span>
      ) : null}
    </div>
    {card.says.map(({ field, text }) => <Said key={field} agent={card.agent} field={field} text={text} />)}
  </header>
);
