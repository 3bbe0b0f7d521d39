import { ShownText } from "../../../components/ShownText";
import type { DiffKind, DiffLine } from "../../../ipc/generated";

// Neutral on purpose: green must not praise a change.
const LOOK: Record<DiffKind, string> = {
  same: "text-text-3",
  old: "bg-raised text-text-2 line-through decoration-text-3",
  new: "bg-raised font-semibold text-text",
};
const SIGN: Record<DiffKind, string> = { same: " ", old: "−", new: "+" };
const WORD: Record<DiffKind, string> = { same: "", old: "before: ", new: "after: " };

/** Unchanged lines that stay around a change. */
const AROUND = 1;

/** Lines with those far from a change left out: how many, in the place of the first of them. */
const folded = (lines: readonly DiffLine[]): (DiffLine | number)[] => {
  const near = lines.map((_, place) =>
    lines.slice(Math.max(place - AROUND, 0), place + AROUND + 1).some(({ kind }) => kind !== "same"),
  );
  const shown: (DiffLine | number)[] = [];
  lines.forEach((line, place) => {
    const last = shown.at(-1);
    if (near[place] === true) shown.push(line);
    else if (typeof last === "number") shown[shown.length - 1] = last + 1;
    else shown.push(1);
  });
  return shown;
};

interface DiffViewProps {
  readonly lines: readonly DiffLine[];
  /** Leaves out what is the same, but for what is next to a change. */
  readonly folded?: boolean;
}

/** Old and new arguments, line by line. */
export const DiffView = ({ lines, folded: folds = false }: DiffViewProps) => (
  <ol
    className={`selectable m-0 list-none overflow-auto rounded-lg border border-line bg-panel px-0 py-1.5 font-mono
      text-[12.5px]/[1.6]`}
    data-testid="diff"
  >
    {(folds ? folded(lines) : lines).map((line, index) =>
      typeof line === "number" ? (
        // Lines of a diff never move.
        // oxlint-disable-next-line react/no-array-index-key
        <li key={index} className="px-3 font-sans text-[11.5px] text-text-3">
          {line === 1 ? "1 line is the same" : `${line} lines are the same`}
        </li>
      ) : (
        // oxlint-disable-next-line react/no-array-index-key
        <li key={index} className={`px-3 whitespace-pre-wrap ${LOOK[line.kind]}`} data-kind={line.kind}>
          <span className="sr-only">{WORD[line.kind]}</span>
          <span aria-hidden="true" className="mr-2 inline-block no-underline select-none">
            {SIGN[line.kind]}
          </span>
          <ShownText text={line.text} block />
        </li>
      ),
    )}
  </ol>
);
