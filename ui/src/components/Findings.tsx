import { OctagonAlert, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { FindingView, FindingWeight } from "../ipc/generated";
import { localized } from "./amounts";
import { ShownText } from "./ShownText";

/** What a finding is called beside a value, where its sentence has no room. */
const TITLE: Record<string, string> = {
  near_miss: "close to a known one",
  pair_broken: "not the usual one",
  denied_before: "denied before",
  runs_what_it_fetches: "runs a download",
  destructive_command: "cannot be undone",
  destructive_sql: "cannot be undone",
  sends_out: "sends data out",
  opens_rights: "opens up access",
  persists: "runs again later",
  bad_checksum: "wrong check digits",
  risky_address: "misleading address",
  wider: "reaches further",
  beyond: "far from the usual",
  new_value: "new here",
  new_argument: "new argument",
  safeguard_off: "check switched off",
  reaches_production: "production",
  unreadable_sql: "cannot be read",
  unreadable_command: "cannot be read",
  presses: "asks you not to check",
  disagrees: "does not go together",
  hidden_text: "cannot be seen",
  instructs_agents: "gives orders to agents",
  claim_differs: "not what the agent says",
  done_before: "done before",
  changes_countersign: "changes Countersign itself",
  ungated_agent: "agent without its gate",
};

export const titleOf = (code: string): string => TITLE[code] ?? code.replaceAll("_", " ");

export const TONE: Record<FindingWeight, string> = {
  stop: "border-bad-line bg-bad-bg text-bad",
  look: "border-warn-line bg-warn-bg text-warn-text",
};

export const WEIGHT: Record<FindingWeight, string> = { stop: "Stop", look: "Look" };

export const FindingIcon = ({ weight, size = 15 }: { readonly weight: FindingWeight; readonly size?: number }) => {
  const Icon = weight === "stop" ? OctagonAlert : TriangleAlert;
  return <Icon size={size} strokeWidth={2.2} className="shrink-0" aria-hidden="true" />;
};

/** The sentence of a finding as a line of its own. */
export const FindingLine = ({
  finding,
  children,
}: {
  readonly finding: FindingView;
  readonly children?: ReactNode;
}) => (
  <p
    role="note"
    className={`selectable m-0 flex items-start gap-2 rounded-[7px] border px-3 py-2 text-[13px]/[1.4] font-semibold
      ${TONE[finding.weight]}`}
    data-finding={finding.code}
    data-weight={finding.weight}
  >
    <span className="mt-[1.5px]">
      <FindingIcon weight={finding.weight} />
    </span>
    <span className="sr-only">{WEIGHT[finding.weight]}: </span>
    <span className="min-w-0">{children ?? <ShownText text={localized(finding.message)} />}</span>
  </p>
);

/** A finding beside the value that it is about: its name alone where the sentence is above. */
export const FindingMark = ({ finding, above }: { readonly finding: FindingView; readonly above: boolean }) => (
  <span
    className={`my-0.5 mr-1.5 inline-flex max-w-full items-start gap-1 rounded border px-1.5 align-[1px] font-sans
      text-[11.5px]/[17px] font-semibold whitespace-normal ${TONE[finding.weight]}`}
    data-mark={finding.code}
    data-weight={finding.weight}
  >
    <span className="mt-[3px]">
      <FindingIcon weight={finding.weight} size={11} />
    </span>
    <span className="sr-only">{WEIGHT[finding.weight]}: </span>
    {above ? titleOf(finding.code) : <ShownText text={localized(finding.message)} />}
  </span>
);
