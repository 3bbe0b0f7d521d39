import type { DecisionView, OnBusView } from "../ipc/generated";
import { RuleLink } from "./RuleLink";
import { Section } from "./Section";
import { ShownText } from "./ShownText";
import { plainText } from "./shown";
import { Entries } from "./Values";
import { pastOf } from "./verdict";
import { Moment } from "./Moment";

/** Another decision than this console's: agents read the one on the bus. */
export const OnBus = ({ other }: { readonly other: OnBusView }) => (
  <Section title="Another decision is on the bus">
    <div
      role="note"
      className="selectable rounded-[7px] border border-bad-line bg-bad-bg px-3 py-2 text-bad"
      data-testid="on-bus"
    >
      <b className="inline-block font-semibold first-letter:uppercase">{pastOf(plainText(other.verdict))}</b> by{" "}
      <ShownText text={other.by} />, <Moment ms={other.atMs} />, decision #{other.streamSeq}. Agents follow this one,
      not the one that this console stored.
      {other.message === null ? null : (
        <p className="mt-1 mb-0">
          “<ShownText text={other.message} block />”
        </p>
      )}
    </div>
  </Section>
);

interface DecisionProps {
  readonly decision: DecisionView;
  readonly workspace: string;
}

/** The valid decision, and who or what gave it. */
export const Decision = ({ decision, workspace }: DecisionProps) => (
  <Section title="Decision">
    <div className="selectable border-l-2 border-accent pl-2.5 text-text-2" data-testid="decision">
      <b className="inline-block font-semibold text-text first-letter:uppercase">{pastOf(decision.verdict)}</b> by{" "}
      {decision.rule !== null ? (
        <RuleLink rule={decision.rule} workspace={workspace} origin={decision.origin} />
      ) : decision.mine ? (
        "you"
      ) : (
        <ShownText text={decision.by} />
      )}
      {decision.origin === "operator" || decision.rule !== null ? "" : ` (${decision.origin.replace("_", " ")})`}
      {`, key ${decision.keyTail}`}
      {decision.atMs === null ? null : (
        <>
          , <Moment ms={decision.atMs} />
        </>
      )}
      {decision.message === null ? null : (
        <p className="mt-1 mb-0">
          “<ShownText text={decision.message} block />”
        </p>
      )}
    </div>
    {decision.edited.length === 0 ? null : (
      <div className="mt-2">
        <Entries entries={decision.edited} revealed={new Map()} label="Arguments that may run" />
      </div>
    )}
  </Section>
);
