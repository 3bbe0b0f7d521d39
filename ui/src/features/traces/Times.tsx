import { Fact } from "../../components/Fact";
import { Section } from "../../components/Section";
import { formatDuration } from "../../components/timeline/scale";
import { Moment } from "../../components/Moment";
import type { TraceLine, TraceTree, UsageView } from "../../ipc/generated";

const count = (value: number): string => Math.round(value).toLocaleString("en");
const dollars = (value: number): string => `$${value < 0.01 ? value.toPrecision(2) : value.toFixed(2)}`;

/** Figures of one span beside those of all below it. */
const FIGURES: readonly (readonly [keyof UsageView, string, (value: number) => string])[] = [
  ["tokensCharged", "Tokens charged", count],
  ["inputTokens", "Tokens read", count],
  ["outputTokens", "Tokens written", count],
  ["costUsd", "Cost", dollars],
  ["executionTimeMs", "Reported run time", formatDuration],
];

interface TimesProps {
  readonly line: TraceLine;
  readonly tree: TraceTree;
  readonly own: UsageView | null;
}

/** When, how long, how much of it a person or rule was waited for, and what it used. */
export const Times = ({ line, tree, own }: TimesProps) => {
  const start = tree.startMs + line.startMs;
  const length = (line.endMs ?? tree.durationMs) - line.startMs;
  const waited = line.wait === null ? 0 : Math.min(line.wait.endMs - line.wait.startMs, Math.max(length, 0));
  const figures = FIGURES.filter(([name]) => (line.usage?.[name] ?? 0) > 0);
  return (
    <>
      <Section title="Time">
        <dl className="m-0 grid grid-cols-[104px_minmax(0,1fr)] gap-x-2 gap-y-[5px]">
          <Fact name="Started">
            <Moment ms={start} exact />
          </Fact>
          <Fact name="Took">{line.endMs === null ? `${formatDuration(length)} so far` : formatDuration(length)}</Fact>
          {line.wait === null || line.kind === "request" ? null : (
            <>
              <Fact name="Decision">{formatDuration(waited)}</Fact>
              <Fact name="Machine">{formatDuration(Math.max(length - waited, 0))}</Fact>
            </>
          )}
        </dl>
      </Section>
      {figures.length === 0 ? null : (
        <Section title="Usage">
          <table className="w-full" data-testid="usage">
            <thead className="text-left text-xs text-text-3">
              <tr>
                <th className="text-left font-normal">Figure</th>
                <th className="text-right font-normal">itself</th>
                <th className="text-right font-normal">with children</th>
              </tr>
            </thead>
            <tbody>
              {figures.map(([name, label, show]) => (
                <tr key={name}>
                  <th scope="row" className="text-left font-normal text-text-3">
                    {label}
                  </th>
                  <td className="text-right">{own === null || own[name] === 0 ? "–" : show(own[name])}</td>
                  <td className="text-right">{show(line.usage?.[name] ?? 0)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Section>
      )}
    </>
  );
};
