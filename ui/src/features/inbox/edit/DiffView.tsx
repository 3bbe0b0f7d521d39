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

/** Old and new arguments, line by line. */
export const DiffView = ({ lines }: { readonly lines: readonly DiffLine[] }) => (
  <ol
    className={`selectable m-0 list-none overflow-auto rounded-lg border border-line bg-panel px-0 py-1.5 font-mono
      text-[12.5px]/[1.6]`}
    data-testid="diff"
  >
    {lines.map((line, index) => (
      // Lines of a diff never move.
      // oxlint-disable-next-line react/no-array-index-key
      <li key={index} className={`px-3 whitespace-pre-wrap ${LOOK[line.kind]}`} data-kind={line.kind}>
        <span className="sr-only">{WORD[line.kind]}</span>
        <span aria-hidden="true" className="mr-2 inline-block no-underline select-none">
          {SIGN[line.kind]}
        </span>
        <ShownText text={line.text} block />
      </li>
    ))}
  </ol>
);
