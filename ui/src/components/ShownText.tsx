import type { ReactNode } from "react";
import type { Segment, Shown } from "../ipc/generated";

interface ShownTextProps {
  readonly text: Shown;
  /** Keeps line breaks and blanks. */
  readonly block?: boolean;
  /** Marks the end of each line. */
  readonly lineEnds?: boolean;
}

const describe = (segment: Extract<Segment, { kind: "mark" }>): string =>
  segment.name === undefined ? `hidden character ${segment.code}` : `${segment.name} ${segment.code}`;

/** A text that marks the end of each line that it breaks itself. */
const withEnds = (text: string): ReactNode[] =>
  text.split("\n").flatMap((line, place) =>
    place === 0
      ? [line]
      : [
          // Lines never move within a text.
          // oxlint-disable-next-line react/no-array-index-key
          <span key={place} className="text-text-3 select-none" data-testid="line-end" aria-hidden="true">
            ↵
          </span>,
          `\n${line}`,
        ],
  );

/** Agent text on screen: text nodes and marks, never markup. */
export const ShownText = ({ text, block = false, lineEnds = false }: ShownTextProps) => (
  <span className={block ? "shown shown-block" : "shown"} dir="ltr" translate="no">
    {text.map((segment, index) =>
      segment.kind === "text" ? (
        lineEnds ? (
          withEnds(segment.text)
        ) : (
          segment.text
        )
      ) : (
        // Pieces never move within a text: their place is their identity.
        // oxlint-disable-next-line react/no-array-index-key
        <span key={index} className="shown-mark" title={describe(segment)}>
          {segment.code}
        </span>
      ),
    )}
  </span>
);
