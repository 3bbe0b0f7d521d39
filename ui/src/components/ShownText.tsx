import type { Shown } from "../ipc/generated";

interface ShownTextProps {
  readonly text: Shown;
  /** Keeps line breaks and blanks. */
  readonly block?: boolean;
}

/** Agent text on screen: text nodes and marks, never markup. */
export const ShownText = ({ text, block = false }: ShownTextProps) => (
  <span className={block ? "shown shown-block" : "shown"} dir="ltr" translate="no">
    {text.segments.map((segment, index) =>
      segment.type === "text" ? (
        segment.text
      ) : (
        // Segments never move within a text.
        // eslint-disable-next-line react/no-array-index-key
        <span key={index} className="shown-mark" title={segment.name}>
          {segment.code_point}
        </span>
      ),
    )}
  </span>
);
