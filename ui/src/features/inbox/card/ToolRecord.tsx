import { useQuery } from "@tanstack/react-query";
import { Section } from "../../../components/Section";
import { Share } from "../../../components/Share";
import { Unread } from "../../../components/Unread";
import { formatPace } from "../../../components/timeline/scale";
import { useDesk } from "../../../desk/DeskContext";
import type { ToolRecordView } from "../../../ipc/generated";

const count = (value: number): string => value.toLocaleString("en");

const wordsOf = (record: ToolRecordView): string => {
  const { approved, denied, expired, other, automatic, medianMs } = record;
  const ends = [
    [approved, "approved"],
    [denied, "denied"],
    [expired, "expired"],
    [other, "ended otherwise"],
  ] as const;
  const reported = ends
    .filter(([number]) => number > 0)
    .map(([number, word]) => `${count(number)} ${word}`)
    .join(", ");
  const byRules = automatic === 0 ? "" : ` By rules or setup keys: ${count(automatic)}.`;
  const pace = medianMs === null ? "" : ` Median waiting ${formatPace(medianMs)}.`;
  return `${reported}.${byRules}${pace}`;
};

/** How the agent's earlier calls of the card's tool ended. */
export const ToolRecord = ({ request, agent }: { readonly request: string; readonly agent: string }) => {
  const desk = useDesk();
  // It counts what came before the request: only what still waited then can change.
  const { data, error } = useQuery({
    queryKey: ["tool-record", request],
    queryFn: () => desk.call("tool_record", { key: request }),
  });
  if (data === undefined)
    return error === null ? null : (
      <Section title="This tool">
        <Unread error={error} />
      </Section>
    );
  const total = data.approved + data.denied + data.expired + data.other;
  const span = data.newest === null ? "last 90 days" : `of the last ${count(data.newest)} calls`;
  return (
    <Section title={`This tool by ${agent}, ${span}`}>
      <Unread error={error} />
      <div data-testid="tool-record">
        {total === 0 ? (
          <p className="m-0 text-text-2">No earlier call of it by this agent.</p>
        ) : (
          <>
            <div className="mb-1.5 flex h-2 overflow-hidden rounded bg-line" aria-hidden="true">
              <Share of={data.approved} total={total} look="bg-ok" />
              <Share of={data.denied} total={total} look="bg-bad" />
              <Share of={data.expired + data.other} total={total} look="bg-text-3" />
            </div>
            <p className="m-0 text-text-2">{wordsOf(data)}</p>
          </>
        )}
      </div>
    </Section>
  );
};
