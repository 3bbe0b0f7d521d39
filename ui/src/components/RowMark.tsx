import type { FindingView } from "../ipc/generated";
import { localized } from "./amounts";
import { FindingIcon, WEIGHT } from "./Findings";
import { plainText } from "./shown";

const TONE: Record<FindingView["weight"], string> = { stop: "text-bad", look: "text-warn" };

/** The strongest finding of a call in a list: its sentence as a tooltip, and for screen readers. */
export const RowMark = ({ finding }: { readonly finding: FindingView }) => {
  const message = `${WEIGHT[finding.weight]}: ${plainText(localized(finding.message))}`;
  return (
    <span
      className={`mr-1.5 inline-block align-[-2px] ${TONE[finding.weight]}`}
      title={message}
      data-row-mark={finding.code}
      data-weight={finding.weight}
    >
      <FindingIcon weight={finding.weight} size={13} />
      <span className="sr-only">{message}</span>
    </span>
  );
};
