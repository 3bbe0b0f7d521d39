import { Fragment, useState, type ReactNode } from "react";
import { FindingMark } from "./Findings";
import { plainText } from "./shown";
import { ShownText } from "./ShownText";
import type { ArgEntry, ArgPart, FindingView, PartMark, Revealed } from "../ipc/generated";

interface PartsProps {
  readonly parts: readonly ArgPart[];
  readonly revealed: ReadonlyMap<number, Revealed>;
  /** Marks the end of each line of a text. */
  readonly lineEnds?: boolean;
  /** What the marks of the parts are about. */
  readonly findings?: readonly FindingView[];
}

const NONE: readonly FindingView[] = [];

const lookOf = ({ findings: [first], letters }: PartMark, findings: readonly FindingView[]): string => {
  const found = first === undefined ? undefined : findings[first];
  if (found === undefined) return letters ? "letters" : "";
  return `${letters ? "letters" : "marked"} ${found.weight === "stop" ? "letters-stop" : "letters-look"}`;
};

/** A piece with its marks; behind the last piece of a value what was found in it. */
const Marked = (props: {
  readonly mark: PartMark | undefined;
  /** The findings of which it is the last piece. */
  readonly ends: readonly number[];
  readonly findings: readonly FindingView[];
  readonly children: ReactNode;
}) => {
  const { mark, ends, findings, children } = props;
  if (mark === undefined) return children;
  return (
    <>
      <span className={lookOf(mark, findings)} {...(mark.letters ? { "data-letters": "" } : {})}>
        {children}
      </span>
      {ends.map((place) => {
        const finding = findings[place];
        // The blank stays behind where the mark begins a line of its own.
        return finding === undefined ? null : (
          <Fragment key={place}>
            {" "}
            <FindingMark finding={finding} above={place === 0} />
          </Fragment>
        );
      })}
    </>
  );
};

/** The findings that no later piece is marked for. */
const endsAt = (parts: readonly ArgPart[], index: number): number[] =>
  (parts[index]?.mark?.findings ?? []).filter(
    (place) => !parts.slice(index + 1).some(({ mark }) => mark?.findings.includes(place) === true),
  );

const spaced = (digest: string): string => `${digest.slice(0, 4)} ${digest.slice(4)}`;

/** A value, complete; what looks like a secret shows its length and a keyed digest until V opens it. */
export const Parts = ({ parts, revealed, lineEnds = false, findings = NONE }: PartsProps) => (
  <>
    {parts.map((part, index) => {
      const open = part.type === "text" || part.reveal === null ? undefined : revealed.get(part.reveal);
      return (
        // Pieces never move within a value.
        // oxlint-disable-next-line react/no-array-index-key
        <Fragment key={index}>
          <Marked mark={part.mark} ends={endsAt(parts, index)} findings={findings}>
            {part.type === "text" ? (
              <ShownText text={part.text} block lineEnds={lineEnds} />
            ) : open === undefined ? (
              <span className="text-text-3">
                {part.characters} characters hidden, {spaced(part.digest)}{" "}
                {part.reveal === null ? null : <kbd className="kbd">V</kbd>}
              </span>
            ) : (
              <span className="rounded bg-warn-bg px-1">
                <ShownText text={open.value} block lineEnds={lineEnds} />
              </span>
            )}
          </Marked>
        </Fragment>
      );
    })}
  </>
);

interface EntriesProps {
  readonly entries: readonly ArgEntry[];
  readonly revealed: ReadonlyMap<number, Revealed>;
  readonly label: string;
  /** What is marked in them. */
  readonly findings?: readonly FindingView[];
}

const hasLines = ({ value }: ArgEntry): boolean =>
  value.some((part) => part.type === "text" && plainText(part.text).includes("\n"));

/** Arguments in the order received. */
export const Entries = ({ entries, revealed, label, findings = NONE }: EntriesProps) => {
  const [lineEnds, setLineEnds] = useState(false);
  return (
    <>
      <dl className="selectable overflow-hidden rounded-lg border border-line bg-panel" aria-label={label}>
        {entries.length === 0 ? <div className="px-3 py-2 text-text-3">No arguments</div> : null}
        {entries.map((entry, index) => (
          // Entries are drawn once, in the order received.
          <div
            // oxlint-disable-next-line react/no-array-index-key
            key={index}
            className="row-line flex flex-wrap gap-x-3 px-3 py-[7px] font-mono text-[12.5px]/[1.5] last:border-0"
          >
            {entry.name === null ? null : (
              <dt className="w-[130px] max-w-full text-text-3">
                <ShownText text={entry.name} />
              </dt>
            )}
            <dd className="m-0 min-w-0 grow basis-40" data-value="">
              <Parts parts={entry.value} revealed={revealed} lineEnds={lineEnds} findings={findings} />
            </dd>
          </div>
        ))}
      </dl>
      {entries.some(hasLines) ? (
        <button
          type="button"
          aria-pressed={lineEnds}
          className="mt-1 rounded border border-line px-2 py-0.5 text-xs text-text-2 hover:bg-raised"
          onClick={() => {
            setLineEnds(!lineEnds);
          }}
        >
          {lineEnds ? "Hide line ends" : "Show line ends"}
        </button>
      ) : null}
    </>
  );
};
