import { useState } from "react";
import { plainText } from "./shown";
import { ShownText } from "./ShownText";
import type { ArgEntry, ArgPart, Revealed } from "../ipc/generated";

interface PartsProps {
  readonly parts: readonly ArgPart[];
  readonly revealed: ReadonlyMap<number, Revealed>;
  /** Marks the end of each line of a text. */
  readonly lineEnds?: boolean;
}

const spaced = (digest: string): string => `${digest.slice(0, 4)} ${digest.slice(4)}`;

/** A value, complete; what looks like a secret shows its length and a keyed digest until V opens it. */
export const Parts = ({ parts, revealed, lineEnds = false }: PartsProps) => (
  <>
    {parts.map((part, index) => {
      if (part.type === "text") {
        // Pieces never move within a value.
        // oxlint-disable-next-line react/no-array-index-key
        return <ShownText key={index} text={part.text} block lineEnds={lineEnds} />;
      }
      const open = part.reveal === null ? undefined : revealed.get(part.reveal);
      return open === undefined ? (
        // oxlint-disable-next-line react/no-array-index-key
        <span key={index} className="text-text-3">
          {part.characters} characters hidden, {spaced(part.digest)}{" "}
          {part.reveal === null ? null : <kbd className="kbd">V</kbd>}
        </span>
      ) : (
        // oxlint-disable-next-line react/no-array-index-key
        <span key={index} className="rounded bg-warn-bg px-1">
          <ShownText text={open.value} block lineEnds={lineEnds} />
        </span>
      );
    })}
  </>
);

interface EntriesProps {
  readonly entries: readonly ArgEntry[];
  readonly revealed: ReadonlyMap<number, Revealed>;
  readonly label: string;
}

const hasLines = ({ value }: ArgEntry): boolean =>
  value.some((part) => part.type === "text" && plainText(part.text).includes("\n"));

/** Arguments in the order received. */
export const Entries = ({ entries, revealed, label }: EntriesProps) => {
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
            className={`row-line grid gap-x-3 px-3 py-[7px] font-mono text-[12.5px]/[1.5] last:border-0
              ${entry.name === null ? "" : "grid-cols-[minmax(80px,130px)_1fr]"}`}
          >
            {entry.name === null ? null : (
              <dt className="text-text-3">
                <ShownText text={entry.name} />
              </dt>
            )}
            <dd className="m-0 min-w-0">
              <Parts parts={entry.value} revealed={revealed} lineEnds={lineEnds} />
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
