import type { ReactNode } from "react";
import { ShownText } from "../../../components/ShownText";
import { formatAgo, formatTime } from "../../../desk/clock";
import { useServerNow } from "../../../desk/DeskContext";
import type { Card, DecisionView, Rung, RungName } from "../../../ipc/generated";
import { pastOf } from "../sent";
import { Section } from "./Sections";
import { Entries } from "./Values";

/** `sha256 4be1 90c7 … 77a2` */
const shortDigest = (digest: string): string => {
  const hex = digest.replace(/^sha256:/, "");
  return `sha256 ${hex.slice(0, 4)} ${hex.slice(4, 8)} … ${hex.slice(-4)}`;
};

const Fact = ({ name, children, title }: { readonly name: string; readonly children: ReactNode; readonly title?: string }) => (
  <>
    <dt className="text-text-3">{name}</dt>
    <dd className="selectable m-0 min-w-0 [overflow-wrap:anywhere]" {...(title === undefined ? {} : { title })}>{children}</dd>
  </>
);

const Requested = ({ ms }: { readonly ms: number }) => <>{formatTime(ms)}, {formatAgo(useServerNow() - ms)}</>;

export const Origin = ({ card }: { readonly card: Card }) => {
  const { origin, tool } = card;
  return (
    <Section title="Origin">
      <dl className="m-0 grid grid-cols-[92px_1fr] gap-x-2 gap-y-[5px]">
        <Fact name="Stored"><Requested ms={card.storedMs} /></Fact>
        {origin.source === null ? null : <Fact name="Source"><ShownText text={origin.source} /></Fact>}
        {tool?.origin == null ? null : <Fact name="Tool"><ShownText text={tool.origin} />{tool.namespace === null ? null : <>, <ShownText text={tool.namespace} /></>}</Fact>}
        {tool?.effects == null ? null : <Fact name="Effects"><ShownText text={tool.effects} />, says the agent</Fact>}
        {origin.argsDigest === null ? null : (
          <Fact name="Arguments" title={origin.argsDigest}><code className="font-mono text-xs text-text-2">{shortDigest(origin.argsDigest)}</code></Fact>
        )}
        <Fact name="Request" title={origin.requestDigest}><code className="font-mono text-xs text-text-2">{shortDigest(origin.requestDigest)}</code></Fact>
        {origin.nativeDigest === null ? null : (
          <Fact name="Framework's"><code className="font-mono text-xs text-text-2"><ShownText text={origin.nativeDigest.alg} /> <ShownText text={origin.nativeDigest.value} /></code>, not trusted</Fact>
        )}
        {origin.trace === null ? null : <Fact name="Trace"><code className="font-mono text-xs text-text-2"><ShownText text={origin.trace} /></code></Fact>}
        {card.approvalsRequired > 1 ? <Fact name="Operators">{card.approvalsRequired} must agree</Fact> : null}
        <Fact name="Stream"><code className="font-mono text-xs text-text-2">#{origin.streamSeq}</code></Fact>
      </dl>
    </Section>
  );
};

const RUNG: Record<RungName, string> = {
  stored: "Stored", decided: "Decided", on_bus: "On the bus", received: "Received", executed: "Executed",
};

const rungLabel = (rung: Rung, agent: string): string => {
  if (rung.rung === "received" && rung.state === "bad") return `Refused by ${agent}`;
  if (rung.rung === "executed" && rung.state === "bad") return "Failed";
  if (rung.state === "stalled") return `${RUNG[rung.rung]}: overdue`;
  return rung.rung === "received" ? `Received by ${agent}` : RUNG[rung.rung];
};

const DOT: Record<Rung["state"], string> = { open: "border-text-3", done: "border-ok bg-ok", bad: "border-bad bg-bad", stalled: "border-bad" };
const STATE: Record<Rung["state"], string> = { open: "not yet", done: "done", bad: "went wrong", stalled: "overdue" };

/** How far the request and its answer have come. */
export const Ladder = ({ card }: { readonly card: Card }) => (
  <Section title="Delivery">
    <ol className="m-0 list-none p-0" data-testid="ladder">
      {card.ladder.map((rung) => (
        <li key={rung.rung} className={`flex gap-2 py-0.5 ${rung.state === "open" ? "text-text-3" : ""}`} data-rung={rung.rung} data-state={rung.state}>
          <span aria-hidden="true" className={`mt-[5px] size-2 shrink-0 rounded-full border-[1.5px] ${DOT[rung.state]}`} />
          <span>
            {rungLabel(rung, card.agent)}{rung.atMs === null ? "" : `, ${formatTime(rung.atMs, true)}`}
            {rung.detail === null ? null : <span className="text-text-3"> <ShownText text={rung.detail} /></span>}
            <span className="sr-only"> ({STATE[rung.state]})</span>
          </span>
        </li>
      ))}
    </ol>
  </Section>
);

/** The decision that stands, and who gave it. */
export const Decision = ({ decision }: { readonly decision: DecisionView }) => (
  <Section title="Decision">
    <div className="selectable border-l-2 border-accent pl-2.5 text-text-2" data-testid="decision">
      <b className="font-semibold text-text capitalize">{pastOf(decision.verdict)}</b> by {decision.mine ? "you" : <ShownText text={decision.by} />}
      {decision.origin === "operator" ? "" : ` (${decision.origin.replace("_", " ")})`}, key {decision.keyTail}
      {decision.atMs === null ? "" : `, ${formatTime(decision.atMs)}`}
      {decision.message === null ? null : <p className="mt-1 mb-0">“<ShownText text={decision.message} block />”</p>}
    </div>
    {decision.edited.length === 0 ? null : (
      <div className="mt-2"><Entries entries={decision.edited} revealed={new Map()} label="Arguments that may run" /></div>
    )}
  </Section>
);
