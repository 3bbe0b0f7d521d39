import { Section } from "../../../components/Section";
import { ShownText } from "../../../components/ShownText";
import { pastOf } from "../../../components/verdict";
import { Moment } from "../../../components/Moment";
import type { VotesView, BallotView } from "../../../ipc/generated";

const Vote = ({ vote }: { readonly vote: BallotView }) =>
  vote.type === "hidden" ? (
    <li className="text-text-3">Somebody has voted; details are shown after your own vote</li>
  ) : (
    <li>
      {vote.mine ? "You" : <ShownText text={vote.by} />} <span className="text-text-2">{pastOf(vote.verdict)}</span>
      <span className="text-text-3">
        , key {vote.keyTail}, <Moment ms={vote.atMs} />
      </span>
    </li>
  );

/** How far several operators are. */
export const Votes = ({ votes }: { readonly votes: VotesView }) => {
  const { required, given, apart, mine } = votes.count;
  return (
    <Section title="Several operators must agree">
      <div className="flex items-center gap-2.5" data-testid="votes">
        <span className="flex gap-1" aria-hidden="true">
          {Array.from({ length: required }, (_, place) => (
            // Places in a row of equals.
            // oxlint-disable-next-line react/no-array-index-key
            <i
              key={place}
              className={`size-2.5 rounded-full border-[1.5px]
                ${place < given ? "border-accent bg-accent" : "border-text-3"}`}
            />
          ))}
        </span>
        <span>
          {given} of {required} approvals, {mine ? "including yours" : "yours is missing"}
        </span>
      </div>
      {apart === 0 ? null : (
        <p className="m-0 mt-1.5 text-warn" data-testid="votes-apart">
          {apart === 1 ? "1 vote is" : `${apart} votes are`} for a different answer and not counted here. Another
          operator must agree, or somebody denies it.
        </p>
      )}
      {votes.votes.length === 0 ? null : (
        <ul className="m-0 mt-1.5 list-none p-0">
          {votes.votes.map((vote, index) => (
            // Votes keep the order of the stream.
            // oxlint-disable-next-line react/no-array-index-key
            <Vote key={index} vote={vote} />
          ))}
        </ul>
      )}
    </Section>
  );
};
