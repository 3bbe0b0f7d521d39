import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { FormOutline } from "../form/FormOutline";
import { Section } from "../../../components/Section";
import { ShownText } from "../../../components/ShownText";
import { Entries } from "../../../components/Values";
import { pastOf } from "../../../components/verdict";
import { formatAgo } from "../../../desk/clock";
import { useServerSecond } from "../../../desk/DeskContext";
import type { Card, EffectiveGroup, ReAskView, Revealed } from "../../../ipc/generated";

interface RevealedProps {
  readonly revealed: ReadonlyMap<number, Revealed>;
}

const EFFECTIVE: Record<string, string> = {
  fixed: "Set by the framework",
  defaults: "Filled in by default",
  injected_names: "Injected, value not shown",
  dropped_names: "Dropped",
  coerced: "Converted",
};

/** What the framework will still change after the gate. */
export const Effective = ({ groups, revealed }: RevealedProps & { readonly groups: readonly EffectiveGroup[] }) =>
  groups.length === 0 ? null : (
    <Section title="What the framework will still change">
      {groups.map((group, index) => {
        const [first] = group.name;
        const known = first?.kind === "text" ? EFFECTIVE[first.text] : undefined;
        return (
          // Groups keep their order.
          // oxlint-disable-next-line react/no-array-index-key
          <div key={index} className="mb-2">
            <div className="mb-1 text-xs text-text-2">{known ?? <ShownText text={group.name} />}</div>
            <Entries entries={group.entries} revealed={revealed} label="Changed by the framework" />
          </div>
        );
      })}
    </Section>
  );

const link = "text-accent underline";

/** The same call decided before, where no warning shows it. */
const Repeats = ({ reAsk }: { readonly reAsk: ReAskView }) => {
  const now = useServerSecond();
  return (
    <p className="m-0 text-[12.5px] text-text-2">
      Same call as{" "}
      <Link to="/history/request" search={{ key: reAsk.key }} className={link} data-testid="re-ask">
        {reAsk.key}
      </Link>{" "}
      ({pastOf(reAsk.verdict)}
      {reAsk.by === null ? null : (
        <>
          {" "}
          by <ShownText text={reAsk.by} />
        </>
      )}
      , <span data-ticks="">{formatAgo(now - reAsk.atMs)}</span>)
    </p>
  );
};

/** Reasons to look twice, under everything that runs. */
export const Warnings = ({ card, revealed }: RevealedProps & { readonly card: Card }) =>
  card.warnings.length === 0 && card.reAsk === null && revealed.size === 0 ? null : (
    <div className="mb-5 flex flex-col gap-2">
      {card.warnings.map((warning, index) => (
        // Warnings keep their order.
        <p
          // oxlint-disable-next-line react/no-array-index-key
          key={index}
          role="note"
          className="m-0 rounded-[7px] border border-warn-line bg-warn-bg px-3 py-2 text-[12.5px] text-warn-text"
          data-warning={warning.code}
        >
          <b>
            <ShownText text={warning.place} />
          </b>{" "}
          <ShownText text={warning.message} />
          {warning.request === null ? null : (
            <>
              {" "}
              <Link to="/history/request" search={{ key: warning.request }} className={link}>
                {warning.request}
              </Link>
            </>
          )}
        </p>
      ))}
      {card.reAsk === null ? null : <Repeats reAsk={card.reAsk} />}
      {[...revealed.values()].map((open) => (
        <p
          key={open.reveal}
          className={`selectable m-0 rounded-[7px] border border-line bg-panel px-3 py-2 font-mono text-[12.5px]
            break-all`}
        >
          <span className="mr-2 font-sans text-text-3">
            <ShownText text={card.reveals[open.reveal]?.place ?? []} /> is exactly
          </span>
          {open.ascii}
        </p>
      ))}
    </div>
  );

interface HistoryProps {
  readonly messages: Card["history"];
  readonly open: boolean;
  readonly onOpen: () => void;
}

const SHOWN_CLOSED = 2;

/** Messages that led here, as the agent reports them. */
export const History = ({ messages, open, onOpen }: HistoryProps) => {
  const [focus] = useState(() => messages.length);
  if (messages.length === 0) return null;
  const visible = open ? messages : messages.slice(-SHOWN_CLOSED);
  return (
    <Section title={`Conversation before this call (${focus} ${focus === 1 ? "message" : "messages"}, from the agent)`}>
      {open || messages.length <= SHOWN_CLOSED ? null : (
        <button
          type="button"
          className="mb-2 rounded border border-line px-2 py-1 text-xs text-text-2 hover:bg-raised"
          onClick={onOpen}
        >
          Show {messages.length - SHOWN_CLOSED} earlier
        </button>
      )}
      <ol className="selectable m-0 list-none border-l border-line p-0 pl-3">
        {visible.map((message, index) => (
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
  );
};

/** A question or a form, as the agent asks it. */
export const Asked = ({ card }: { readonly card: Card }) => (
  <>
    {card.question === null ? null : (
      <Section title={`${card.agent} asks`}>
        <p className="selectable mt-0 mb-2 text-[15px]">
          <ShownText text={card.question.text} block />
        </p>
        {card.question.context === null ? null : (
          <p className="selectable mt-0 text-text-2">
            <ShownText text={card.question.context} block />
          </p>
        )}
        <ul className="m-0 list-none p-0">
          {card.question.options.map((option, index) => (
            // Options keep their order.
            // oxlint-disable-next-line react/no-array-index-key
            <li key={index} className="row-line py-1.5 last:border-0">
              <b className="font-semibold">
                <ShownText text={option.label} />
              </b>
              {option.description === null ? null : (
                <span className="ml-2 text-text-2">
                  <ShownText text={option.description} />
                </span>
              )}
            </li>
          ))}
        </ul>
      </Section>
    )}
    {card.form === null ? null : <FormOutline form={card.form} />}
  </>
);
