import { ShownText } from "../../components/ShownText";
import { Entries } from "../../components/Values";
import type { PartView } from "../../ipc/generated";
import { Picture } from "../../components/Picture";
import { formatSize } from "./size";

const NOTHING = new Map<number, never>();
const badge = "rounded border border-line px-1.5 text-[11px] text-text-2";

/** One piece of what a span put out. */
export const Part = ({ part }: { readonly part: PartView }) => {
  switch (part.type) {
    case "text":
      return (
        <div data-part="text">
          {part.shortened === null ? null : (
            <span className={`${badge} mb-1 inline-block`} data-testid="shortened">
              {part.shortened.type === "compressed"
                ? "compressed by the framework"
                : "truncated by the framework; compression failed"}
              , from {part.shortened.from.toLocaleString("en")} characters
            </span>
          )}
          <pre
            className={`selectable m-0 max-h-80 overflow-auto rounded-lg border border-line bg-panel px-3 py-2
            font-mono text-xs/[1.55] whitespace-pre-wrap`}
          >
            <ShownText text={part.text} block />
          </pre>
          {part.cut > 0 ? (
            <p className="mt-1 mb-0 text-text-3">{formatSize(part.cut)} more; the bytes as received have all of it.</p>
          ) : null}
        </div>
      );
    case "value":
      return (
        <div data-part="value">
          <Entries entries={part.entries} revealed={NOTHING} label="Output" />
          {part.cut ? (
            <p className="mt-1 mb-0 text-text-3">Only the beginning; the bytes as received have all of it.</p>
          ) : null}
        </div>
      );
    case "image":
      return (
        <Picture from="sent by the agent" mime={part.mime} data={part.data} width={part.width} height={part.height} />
      );
    case "file":
      return (
        <p className="selectable m-0 [overflow-wrap:anywhere]" data-part="file">
          <span className={badge}>
            <ShownText text={part.mime} />
          </span>{" "}
          {formatSize(part.size)}, <span className="font-mono text-[11px] text-text-3">sha256 {part.sha256}</span>
        </p>
      );
    case "reference":
      return (
        <p className="selectable m-0" data-part="reference">
          <span className={badge}>kept elsewhere</span>{" "}
          <code className="font-mono text-xs">
            <ShownText text={part.name} />
          </code>
        </p>
      );
    case "wrong":
      return (
        <p className="m-0 text-warn-text" data-part="wrong">
          <span className={badge}>
            <ShownText text={part.mime} />
          </span>{" "}
          not drawn: {part.why}
        </p>
      );
  }
};
