import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useCommand } from "../../commands/CommandContext";
import { Button } from "../../components/Button";
import { Decision, OnBus } from "../../components/Decision";
import { Kbd } from "../../components/Kbd";
import { Ladder } from "../../components/Ladder";
import { RawBytes } from "../../components/RawBytes";
import { RawDialog } from "../../components/RawDialog";
import { ProductionMark } from "../../components/ProductionMark";
import { RiskBadge } from "../../components/RiskBadge";
import { Found } from "../../components/Found";
import { Section } from "../../components/Section";
import { ShownText } from "../../components/ShownText";
import { Entries } from "../../components/Values";
import { useDesk } from "../../desk/DeskContext";
import type { RequestStoryView } from "../../ipc/generated";
import { WhyDialog } from "../../components/why/WhyDialog";
import { outcomeOf } from "./HistoryList";
import { RegretBar } from "./RegretBar";
import { Audit, Origin, Signature, Votes } from "./StoryParts";
import { BESIDE, Region } from "../../components/Region";
import { Failed } from "../../components/Failed";
import { Unread } from "../../components/Unread";

const NOTHING = new Map<number, never>();

const Head = ({ story }: { readonly story: RequestStoryView }) => {
  const { row } = story;
  return (
    <header className="border-b border-line px-7 pt-[18px] pb-3.5">
      <div className="selectable mb-1.5 text-xs text-text-3">
        <ProductionMark marked={story.card?.production === true} />
        {row.workspace === "" ? (
          "no valid subject"
        ) : (
          <>
            workspace <em className="text-text-2 not-italic">{row.workspace}</em> / agent{" "}
            <em className="text-text-2 not-italic">{row.agent}</em>
          </>
        )}{" "}
        / request <em className="text-text-2 not-italic">{row.requestId}</em>
      </div>
      <div className="flex items-center gap-2.5">
        <h1 className="sr-only">Request</h1>
        <h2 className="selectable m-0 min-w-0 font-mono text-xl/tight font-semibold">
          {row.tool === null ? (row.kind ?? "no request") : <ShownText text={row.tool} />}
        </h2>
        {row.state === "rejected" ? null : <RiskBadge risk={row.risk} large />}
        <span className="ml-auto text-[14.5px] text-text-2" data-testid="story-outcome">
          {outcomeOf(row)}
        </span>
      </div>
    </header>
  );
};

const What = ({ story }: { readonly story: RequestStoryView }) => {
  const { card } = story;
  return (
    <>
      {story.removedMs === null ? null : (
        <p role="note" className="mt-0 mb-5 rounded-[7px] border border-warn-line bg-warn-bg px-3 py-2 text-warn-text">
          Retention removed the request’s content. The decision is below.
        </p>
      )}
      {story.errorDetail === null ? null : (
        <Section title="Why it was rejected">
          <p className="selectable m-0">
            <ShownText text={story.errorDetail} block />
          </p>
        </Section>
      )}
      {card === null ? null : (
        <>
          <Found card={card} />
          {card.question === null ? null : (
            <Section title="The question">
              <p className="selectable m-0 text-[15px]">
                <ShownText text={card.question.text} block />
              </p>
            </Section>
          )}
          {card.args === null ? null : (
            <Section title="Arguments">
              <Entries entries={card.args} revealed={NOTHING} label="Arguments" findings={card.findings} />
            </Section>
          )}
          {card.says.map((said) => (
            <p key={said.field} className="selectable mt-0 mb-3 max-w-[760px]">
              <span className="mr-1.5 rounded border border-line px-1.5 text-[11.5px] text-text-3">
                {card.agent} says, {said.field}
              </span>
              <ShownText text={said.text} block />
            </p>
          ))}
          {card.warnings.map((warning, index) => (
            // Warnings keep their order.
            <p
              // oxlint-disable-next-line react/no-array-index-key
              key={index}
              role="note"
              className={`mt-0 mb-2 rounded-[7px] border border-warn-line bg-warn-bg px-3 py-2 text-[12.5px]
                text-warn-text`}
            >
              <b>
                <ShownText text={warning.place} />
              </b>{" "}
              <ShownText text={warning.message} />
            </p>
          ))}
          {card.history.length === 0 ? null : (
            <Section title="Conversation before this call (from the agent)">
              <ol className="selectable m-0 list-none border-l border-line p-0 pl-3">
                {card.history.map((message, index) => (
                  // Messages keep their order.
                  // oxlint-disable-next-line react/no-array-index-key
                  <li key={index} className="mb-2">
                    <span className="mr-2 text-xs text-text-3">
                      <ShownText text={message.role} />
                    </span>
                    <span className="text-text-2">
                      <ShownText text={message.content} block />
                    </span>
                  </li>
                ))}
              </ol>
            </Section>
          )}
        </>
      )}
    </>
  );
};

const Story = ({ story, error }: { readonly story: RequestStoryView; readonly error: Error | null }) => {
  const navigate = useNavigate();
  const [raw, setRaw] = useState(false);
  const [why, setWhy] = useState(false);
  const { key } = story.row;
  const hasTrace = story.traces.length > 0;
  const openTrace = (): void => void navigate({ to: "/traces/tree", search: { key } });
  useCommand(
    "why",
    () => {
      setWhy(true);
    },
    story.row.kind !== null,
  );
  useCommand(
    "raw",
    () => {
      setRaw(true);
    },
    story.raw !== null,
  );
  useCommand("trace", openTrace, hasTrace);
  return (
    <main
      className="flex min-h-0 min-w-0 flex-1 flex-col"
      aria-label="Details of a request"
      data-testid="story"
      data-key={key}
    >
      <Unread error={error} className="m-0 border-b border-bad-line bg-bad-bg px-7 py-1.5" />
      <Head story={story} />
      <Region label="What happened" className="flex-1">
        <div className={`flex flex-wrap gap-x-[26px] px-7 py-[18px] narrow:px-4 ${BESIDE} [&>*+*]:basis-[340px]`}>
          <div className="basis-[398px]">
            <What story={story} />
            {story.signature === null ? null : <Signature signature={story.signature} />}
            {story.raw === null ? null : (
              <Section title="Bytes as received">
                <div className="max-h-72 overflow-auto">
                  <RawBytes chunks={[story.raw]} />
                </div>
                {story.raw.next === null ? null : (
                  <button
                    type="button"
                    className="mt-2 rounded border border-line px-2 py-1 text-xs text-text-2 hover:bg-raised"
                    onClick={() => {
                      setRaw(true);
                    }}
                  >
                    All of it <Kbd command="raw" />
                  </button>
                )}
              </Section>
            )}
          </div>
          <div>
            {story.onBus === null ? null : <OnBus other={story.onBus} />}
            {story.decision === null ? null : <Decision decision={story.decision} workspace={story.row.workspace} />}
            <Votes votes={story.votes} />
            <Ladder card={{ agent: story.row.agent, votes: story.card?.votes ?? null, ladder: story.ladder }} />
            <Origin story={story} />
            <RegretBar story={story} />
            {story.row.kind === null ? null : (
              <Button
                className="mb-5"
                onClick={() => {
                  setWhy(true);
                }}
              >
                Why <Kbd command="why" />
              </Button>
            )}
            {hasTrace ? (
              <Button className="mb-5" onClick={openTrace}>
                Its trace <Kbd command="trace" />
              </Button>
            ) : null}
            <Audit rows={story.audit} />
          </div>
        </div>
      </Region>
      {why ? (
        <WhyDialog
          requestKey={key}
          onClose={() => {
            setWhy(false);
          }}
        />
      ) : null}
      {raw ? (
        <RawDialog
          command="raw"
          requestKey={key}
          onClose={() => {
            setRaw(false);
          }}
        />
      ) : null}
    </main>
  );
};

/** A request's whole story on one page. */
export const StoryScreen = () => {
  const { key, find } = useSearch({ from: "/history/request" });
  const desk = useDesk();
  const navigate = useNavigate();
  const { data, error, refetch } = useQuery({
    queryKey: ["story", key],
    queryFn: () => desk.call("request_story", { key }),
    staleTime: 0,
  });
  useEffect(
    () =>
      desk.onTouched((notices) => {
        if (notices.some((notice) => notice.key === key)) void refetch();
      }),
    [desk, key, refetch],
  );
  useCommand("back", () => void navigate({ to: "/history", search: find === undefined ? {} : { find } }));
  if (data !== undefined) return <Story key={key} story={data} error={error} />;
  return (
    <div className="grid flex-1 place-items-center text-text-3">
      {error === null ? "Reading the request…" : <Failed error={error} className="max-w-prose px-7" />}
    </div>
  );
};
