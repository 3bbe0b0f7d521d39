import { Decision, OnBus } from "../../../components/Decision";
import { Ladder } from "../../../components/Ladder";
import { Section } from "../../../components/Section";
import { Entries } from "../../../components/Values";
import { WhyHere } from "../../../components/why/WhyHere";
import { DiffView } from "../edit/DiffView";
import { useCard } from "../openCard";
import { AddedByReader } from "./AddedByReader";
import { Compared } from "./Compared";
import { Asked, Effective, History, Warnings } from "./Sections";
import { Found } from "../../../components/Found";
import { LedHere } from "./LedHere";
import { Looks } from "./Looks";
import { Origin } from "./Origin";
import { Says } from "./Says";
import { ToolRecord } from "./ToolRecord";
import { useInView, useSeenEnd } from "./useSeenEnd";
import { Votes } from "./Votes";
import { BESIDE, Region } from "../../../components/Region";

/** Everything that a card must show, in the order of the desk's design. */
export const Body = () => {
  const { card, acts, arming } = useCard();
  const asked = useInView<HTMLDivElement>(arming.seen);
  const { content, draft, sawEnd } = acts;
  const end = useSeenEnd<HTMLDivElement>(content, () => {
    sawEnd(content);
  });
  return (
    <Region label="What is asked" testId="card-body" className="flex-1">
      <div
        className={`flex flex-wrap gap-x-[26px] px-7 py-[18px] narrow:px-4 narrow:py-2 short:px-4 short:py-2
          ${BESIDE} [&>*+*]:basis-[304px]`}
      >
        <div className="basis-[434px]">
          {draft === null ? null : (
            <Section title="Your edit, not sent">
              <DiffView lines={draft.check.diff} />
            </Section>
          )}
          <div ref={asked} data-place="asked">
            <Found card={card} />
            <Asked card={card} />
            {card.args === null ? null : (
              <Section title="Arguments">
                <Entries entries={card.args} revealed={acts.revealed} label="Arguments" findings={card.findings} />
                <Looks looks={card.looks} />
              </Section>
            )}
            <Effective groups={card.effective} revealed={acts.revealed} />
            <Warnings card={card} revealed={acts.revealed} />
          </div>
          <div ref={end} id="arguments-end" data-place="end" className="h-px" aria-hidden="true" />
          {card.compared === null ? null : <Compared compared={card.compared} />}
          <Says card={card} />
          <LedHere request={card.key} />
          <History messages={card.history} open={acts.progress.evidenceOpen} onOpen={acts.openEvidence} />
          {/* Last, so that no row moves; and no change that disarms the card. */}
          <div data-ticks="">
            <AddedByReader marks={card.reader} />
          </div>
        </div>
        <div>
          {card.onBus === null ? null : <OnBus other={card.onBus} />}
          {card.decision === null ? null : <Decision decision={card.decision} workspace={card.workspace} />}
          {card.state === "pending" ? <WhyHere requestKey={card.key} workspace={card.workspace} /> : null}
          {card.votes === null ? null : <Votes votes={card.votes} />}
          {card.tool === null ? null : <ToolRecord request={card.key} agent={`${card.workspace}/${card.agent}`} />}
          <Origin card={card} />
          <Ladder card={card} />
        </div>
      </div>
    </Region>
  );
};
