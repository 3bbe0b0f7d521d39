import { CommandText } from "../../components/CommandText";
import { Fact } from "../../components/Fact";
import { Moment } from "../../components/Moment";
import { Region } from "../../components/Region";
import { Section } from "../../components/Section";
import { ShownText } from "../../components/ShownText";
import { formatAgo } from "../../desk/clock";
import type { OperatorLine } from "../../ipc/generated";
import { limitsOf, stateOf, type Operator } from "./operators";

/** A console that was heard within this time is there. */
const LIVE_MS = 15_000;

const By = ({ line }: { readonly line: OperatorLine }) =>
  line.by === null ? (
    "nobody yet"
  ) : line.joined ? (
    <>
      <ShownText text={line.by} />
      ’s console, without a person
    </>
  ) : (
    <ShownText text={line.by} />
  );

const Term = ({ line }: { readonly line: OperatorLine }) => (
  <dl className="m-0 mb-4 grid grid-cols-[112px_minmax(0,1fr)] gap-x-2 gap-y-[5px]" data-testid="operator-term">
    {line.fromMs === null ? null : (
      <Fact name={line.state === "waiting" ? "Asked" : "Since"}>
        <Moment ms={line.fromMs} />
      </Fact>
    )}
    <Fact name="By">
      <By line={line} />
    </Fact>
    {line.untilMs === null ? null : (
      <Fact name="Until">
        <Moment ms={line.untilMs} />
      </Fact>
    )}
    <Fact name="May decide">{line.state === "waiting" ? "nothing yet" : limitsOf(line)}</Fact>
    {line.admin ? <Fact name="Administrator">yes</Fact> : null}
  </dl>
);

const next = ({ key, now }: Operator): string =>
  ({
    waiting: `To let the key in, run \`countersign operators accept ${key}\`. To refuse it, run \`countersign operators retire ${key}\`.`,
    ended: "A key never comes in again. The person asks with a new one.",
  })[now.state] ??
  `To end this operator, run \`countersign operators retire ${key}\`. To limit it, run \`countersign operators limit ${key}\`.`;

/** One key: whose it is, since when and by whom, and what to do about it. */
export const OperatorDetail = ({ one, nowMs }: { readonly one: Operator; readonly nowMs: number }) => {
  const { key, now } = one;
  const silent = now.seenMs === null ? null : nowMs - now.seenMs;
  return (
    <Region label="Operator" testId="operator" className="flex-1">
      <header className="border-b border-line px-7 pt-[18px] pb-3.5">
        <div className="mb-1.5 text-xs text-text-3">
          {now.role === "human" ? "A person" : "A console’s own key"}
          {now.mine ? ", this console" : ""} · {stateOf(now)}
        </div>
        <h2 className="selectable m-0 text-xl/tight font-semibold [overflow-wrap:anywhere]">
          <ShownText text={now.name} />
        </h2>
        <p className="mt-2 mb-0 text-text-2" data-testid="operator-seen">
          {silent === null
            ? "Its console is not connected."
            : silent < LIVE_MS
              ? "Its console is connected now."
              : `Its console was last seen ${formatAgo(silent)}.`}
        </p>
      </header>
      <div className="px-7 py-[18px]">
        <Section title="Key">
          <p className="selectable m-0 font-mono text-xs [overflow-wrap:anywhere]">{key}</p>
        </Section>
        <Section title="Term">
          <Term line={now} />
        </Section>
        <Section title="What you can do">
          <p className="selectable m-0 text-text-2 [overflow-wrap:anywhere]">
            <CommandText text={next(one)} />
          </p>
        </Section>
      </div>
    </Region>
  );
};
