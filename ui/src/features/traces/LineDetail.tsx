import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useCommand } from "../../commands/CommandContext";
import { Decision } from "../../components/Decision";
import { Ladder } from "../../components/Ladder";
import { RawDialog } from "../../components/RawDialog";
import { ShownText } from "../../components/ShownText";
import { KIND_WORDS, REPAIR_WORDS, standingOf } from "../../components/timeline/looks";
import { formatDuration } from "../../components/timeline/scale";
import { Entries } from "../../components/Values";
import { Section } from "../../components/Section";
import { useDesk } from "../../desk/DeskContext";
import type { TraceLine, TraceTree } from "../../ipc/generated";
import { toCallError } from "../../ipc/transport";
import { SpanFacts } from "./SpanFacts";
import { Times } from "./Times";
import { Failed } from "../../components/Failed";

const NOTHING = new Map<number, never>();

/** What was asked, what was decided and how far it came. */
const Gate = ({ request }: { readonly request: string }) => {
  const desk = useDesk();
  const { data, error } = useQuery({ queryKey: ["card", request], queryFn: () => desk.call("card", { key: request }) });
  if (data === undefined) {
    return error === null ? null : (
      <Section title="Request">
        <p className="m-0 text-text-2">{toCallError(error).message}</p>
      </Section>
    );
  }
  return (
    <div data-testid="gate">
      {data.decision === null ? null : <Decision decision={data.decision} workspace={data.workspace} />}
      {data.args === null || (data.decision?.edited.length ?? 0) > 0 ? null : (
        <Section title="Arguments">
          <Entries entries={data.args} revealed={NOTHING} label="Arguments" />
        </Section>
      )}
      <Ladder card={data} />
    </div>
  );
};

/** Everything that is known of one line of the tree. */
export const LineDetail = ({ line, tree }: { readonly line: TraceLine; readonly tree: TraceTree }) => {
  const desk = useDesk();
  const [raw, setRaw] = useState(false);
  const { span } = line;
  const { data, error } = useQuery({
    queryKey: ["span", span, line.look, line.endMs],
    enabled: span !== null,
    queryFn: () => desk.call("span", { span: span ?? 0 }),
    placeholderData: (before) => before,
  });
  useCommand(
    "raw",
    () => {
      setRaw(true);
    },
    span !== null,
  );
  const wait = line.wait;
  return (
    <article>
      <h2 className="selectable m-0 font-mono text-base/snug font-semibold [overflow-wrap:anywhere]">
        <ShownText text={line.name} />
      </h2>
      <p className="mt-1 mb-3.5 text-text-3" data-testid="line-state">
        {KIND_WORDS[line.kind]} of {tree.agents[line.agent] ?? "an unknown agent"}, {standingOf(line)}
        {wait === null ? null : line.look === "waiting" ? (
          <>, for {formatDuration(wait.endMs - wait.startMs)} so far</>
        ) : (
          <>
            , waited {formatDuration(wait.endMs - wait.startMs)} for a decision
            {wait.by === null ? null : (
              <>
                {" "}
                by <ShownText text={wait.by} />
              </>
            )}
          </>
        )}
      </p>
      {line.repairs.map((repair) => (
        <p
          key={repair}
          role="note"
          className="mt-0 mb-2 rounded-[7px] border border-warn-line bg-warn-bg px-3 py-2 text-[12.5px] text-warn-text"
        >
          {REPAIR_WORDS[repair]}
        </p>
      ))}
      <Failed error={error} />
      {data === undefined ? null : <SpanFacts span={data} />}
      {line.request === null ? null : <Gate request={line.request} />}
      <Times line={line} tree={tree} own={data?.usage ?? null} />
      {data === undefined ? null : (
        <>
          {data.attributes.length === 0 ? null : (
            <Section title={data.attributesCut ? "Attributes, the first of them" : "Attributes"}>
              <Entries entries={data.attributes} revealed={NOTHING} label="Attributes" />
            </Section>
          )}
          <Section title="Ids">
            <dl className="selectable m-0 grid grid-cols-[72px_minmax(0,1fr)] gap-x-2 gap-y-[5px]">
              {data.ids.map((id) => (
                <div key={id.name} className="contents">
                  <dt className="text-text-3">{id.name}</dt>
                  <dd className="m-0 font-mono text-xs/[1.6] text-text-2 [overflow-wrap:anywhere]">
                    <ShownText text={id.id} />
                  </dd>
                </div>
              ))}
            </dl>
          </Section>
          <button
            type="button"
            className="rounded border border-line px-2 py-1 text-xs text-text-2 hover:bg-raised"
            onClick={() => {
              setRaw(true);
            }}
          >
            Bytes as received <kbd className="kbd">I</kbd>
          </button>
        </>
      )}
      {raw && data !== undefined ? (
        <RawDialog
          command="span_raw"
          requestKey={data.key}
          onClose={() => {
            setRaw(false);
          }}
        />
      ) : null}
    </article>
  );
};
