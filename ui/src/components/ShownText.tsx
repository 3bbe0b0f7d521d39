import type { Segment, Shown } from "../ipc/generated";

interface ShownTextProps {
  readonly text: Shown;
  /** Keeps line breaks and blanks. */
  readonly block?: boolean;
}

const describe = (segment: Extract<Segment, { kind: "mark" }>): string =>
  segment.name === undefined ? `hidden character ${segment.code}` : `${segment.name} ${segment.code}`;

/** Agent text on screen: text nodes and marks, never markup. */
export const ShownText = ({ text, block = false }: ShownTextProps) => (
  <span className={block ? "shown shown-block" : "shown"} dir="ltr" translate="no">
    {text.map((segment, index) =>
      segment.kind === "text" ? (
        segment.text
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
