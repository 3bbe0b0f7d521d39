import { Section } from "../Section";
import { Select } from "../Select";
import { Share } from "../Share";
import { ShownText } from "../ShownText";
import type { PreviewReport, RuleEffect } from "../../ipc/generated";
import { Cases } from "./Cases";
import { waitingWords } from "./WaitingDialog";
import { DAYS, type Days, type RulePreview } from "./usePreview";

const count = (value: number): string => value.toLocaleString("en");
const SPANS: Record<Days, string> = { 90: "last 90 days", 30: "last 30 days", 7: "last 7 days", 0: "everything" };

const Words = ({ report, effect }: { readonly report: PreviewReport; readonly effect: RuleEffect | null }) => {
  const { approve, ask, deny, agreed, denied, refused, unseen, waiting } = report;
  if (approve + ask + deny === 0) return <>It matches none of them.</>;
  const words = [
    effect === "deny" ? `${count(deny)} denied, ${count(agreed)} of them also by people.` : "",
    effect === "approve" && (agreed > 0 || denied + unseen === 0) ? `${count(agreed)} approved, as by people.` : "",
    refused > 0 ? `${count(refused)} denied that a person had approved.` : "",
    denied > 0 ? `${count(denied)} approved that a person had denied.` : "",
    waiting > 0 ? waitingWords(waiting) : "",
    unseen > waiting ? `${count(unseen - waiting)} approved that no person decided.` : "",
    ask > 0
      ? effect === "ask"
        ? `${count(ask)} left to people.`
        : `${count(ask)} left to people: past its limit, or not readable with certainty.`
      : "",
  ];
  return <>{words.filter((word) => word !== "").join(" ")}</>;
};

const Found = ({ report, effect }: { readonly report: PreviewReport; readonly effect: RuleEffect | null }) => {
  const matched = report.approve + report.ask + report.deny;
  const bad = report.denied + report.refused;
  return (
    <>
      <div className="mt-1 mb-1.5 flex h-2 overflow-hidden rounded bg-line" aria-hidden="true">
        <Share of={report.agreed} total={report.total} look="bg-ok" />
        <Share of={bad} total={report.total} look="bg-bad" />
        <Share of={matched - report.agreed - bad} total={report.total} look="bg-text-3" />
      </div>
      <p className="mt-0 mb-4 text-text-2" data-testid="preview-words">
        {report.total === 0 ? "There are no requests in this time." : <Words report={report} effect={effect} />}
      </p>
      {report.newlyHigh + report.newlyCritical === 0 ? null : (
        <p role="note" className="mt-0 mb-4 rounded-[7px] border border-bad-line bg-bad-bg px-3 py-2 text-bad">
          It would approve{" "}
          {[
            [report.newlyCritical, "critical"],
            [report.newlyHigh, "high"],
          ]
            .filter(([number]) => number !== 0)
            .map(([number, word]) => `${number} ${word}`)
            .join(" and ")}{" "}
          {report.newlyCritical + report.newlyHigh === 1 ? "call" : "calls"} that no person approved.
        </p>
      )}
      {report.unsure === 0 ? null : (
        <p role="note" className="mt-0 mb-4 rounded-[7px] border border-warn-line bg-warn-bg px-3 py-2 text-warn-text">
          {count(report.unsure)} could not be read with certainty
          {report.unsureWhy === null ? (
            ""
          ) : (
            <>
              : <ShownText text={report.unsureWhy} />
            </>
          )}
          .
        </p>
      )}
      {report.flips.length === 0 ? null : (
        <Section title="Disagrees with a person">
          <Cases cases={report.flips} more={bad - report.flips.length} testId="flips" />
        </Section>
      )}
      {report.newly.length === 0 ? null : (
        <Section title="High and critical, not approved by a person">
          <Cases
            cases={report.newly}
            more={report.newlyHigh + report.newlyCritical - report.newly.length}
            testId="newly"
          />
        </Section>
      )}
      {report.samples.length === 0 ? null : (
        <Section title="Latest matches">
          <Cases cases={report.samples} more={0} testId="samples" />
        </Section>
      )}
    </>
  );
};

/** What a rule would have done, while it is counted and when it is. */
export const PreviewPanel = ({
  preview,
  effect,
}: {
  readonly preview: RulePreview;
  readonly effect: RuleEffect | null;
}) => {
  const { view, running, trouble } = preview;
  const done = view === null || view.of === 0 ? 0 : Math.min(view.done / view.of, 1);
  return (
    <section aria-label="Simulation" data-testid="preview" data-running={running}>
      <div className="mb-1 flex items-baseline gap-2">
        <h3 className="!m-0">
          What it would have done{view?.report == null ? "" : `, ${count(view.report.total)} requests`}
        </h3>
        <label className="ml-auto text-[11.5px] text-text-3">
          <span className="sr-only">How far back</span>
          <Select
            className="border-line py-0.5 text-text-2"
            value={preview.days}
            onChange={(event) => {
              preview.setDays(Number(event.target.value) as Days);
            }}
          >
            {DAYS.map((days) => (
              <option key={days} value={days}>
                {SPANS[days]}
              </option>
            ))}
          </Select>
        </label>
      </div>
      {running ? (
        <div className="flex items-center gap-2.5">
          <div
            className="h-2 flex-1 overflow-hidden rounded bg-line"
            role="progressbar"
            aria-label="Simulation"
            aria-valuenow={Math.round(done * 100)}
            aria-valuemin={0}
            aria-valuemax={100}
          >
            <i className="block h-full bg-accent" style={{ width: `${done * 100}%` }} />
          </div>
          <span className="text-xs text-text-3">
            {view === null ? "…" : `${count(view.done)} of ${count(view.of)}`}
          </span>
          <button
            type="button"
            className="rounded border border-line px-2 py-1 text-xs text-text-2 hover:bg-raised"
            onClick={preview.cancel}
          >
            Stop
          </button>
        </div>
      ) : null}
      {trouble === null ? null : (
        <p role="alert" className="mt-1 mb-3 text-warn-text">
          {trouble}{" "}
          <button
            type="button"
            className="ml-1 rounded border border-line px-2 py-0.5 text-xs text-text-2 hover:bg-raised"
            onClick={preview.again}
          >
            Start again
          </button>
        </p>
      )}
      {view?.report == null ? null : <Found report={view.report} effect={effect} />}
    </section>
  );
};
