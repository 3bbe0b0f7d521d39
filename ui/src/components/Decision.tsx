import type { DecisionView } from "../ipc/generated";
import { Section } from "./Section";
import { ShownText } from "./ShownText";
import { Entries } from "./Values";
import { pastOf } from "./verdict";
import { Moment } from "./Moment";

/** The decision that stands, and who gave it. */
export const Decision = ({ decision }: { readonly decision: DecisionView }) => (
  <Section title="Decision">
    <div className="selectable border-l-2 border-accent pl-2.5 text-text-2" data-testid="decision">
      <b className="inline-block font-semibold text-text first-letter:uppercase">{pastOf(decision.verdict)}</b> by {decision.mine ? "you" : <ShownText text={decision.by} />}
      {decision.origin === "operator" ? "" : ` (${decision.origin.replace("_", " ")})`}, key {decision.keyTail}
      {decision.atMs === null ? null : <>, <Moment ms={decision.atMs} /></>}
      {decision.message === null ? null : <p className="mt-1 mb-0">“<ShownText text={decision.message} block />”</p>}
    </div>
    {decision.edited.length === 0 ? null : (
      <div className="mt-2"><Entries entries={decision.edited} revealed={new Map()} label="Arguments that may run" /></div>
    )}
  </Section>
);
