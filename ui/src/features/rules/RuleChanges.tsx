import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ShownText } from "../../components/ShownText";
import { Moment } from "../../components/Moment";
import { useDesk } from "../../desk/DeskContext";
import type { RuleChangeView, RuleState } from "../../ipc/generated";
import { Failed } from "../../components/Failed";

const STATE: Record<RuleState, string> = { on: "turned on", off: "turned off", shadow: "set to shadow" };

const What = ({ of }: { readonly of: RuleChangeView }) => {
  if (of.kind === "removed") return <>removed</>;
  if (of.kind === "known") return <>oldest version known here</>;
  if (of.kind === "made")
    return <>created{of.state === null ? "" : `, ${of.state === "shadow" ? "in shadow" : of.state}`}</>;
  return (
    <>
      {of.regret ? "marked as wrong, " : ""}
      {of.state === null ? "" : STATE[of.state]}
      {of.state === null || of.fields.length === 0 ? "" : ", "}
      {of.fields.length === 0 ? (
        ""
      ) : (
        <>
          changed{" "}
          {of.fields.map((field, place) => (
            // The fields of one change keep their order.
            // oxlint-disable-next-line react/no-array-index-key
            <span key={place}>
              {place === 0 ? "" : ", "}
              <code className="font-mono">
                <ShownText text={field} />
              </code>
            </span>
          ))}
        </>
      )}
    </>
  );
};

const Line = ({ of }: { readonly of: RuleChangeView }) => (
  <li
    className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-2.5 py-0.5"
    data-testid="rule-change"
    data-version={of.version}
  >
    <span className="min-w-0 truncate">
      version {of.version}: <What of={of} />
    </span>
    <span className="text-text-3">
      <b className="font-semibold text-text-2">
        <ShownText text={of.by} />
      </b>{" "}
      <span title="End of the key that signed">…{of.keyTail}</span>
      {of.atMs === 0 ? null : (
        <>
          , <Moment ms={of.atMs} />
        </>
      )}
    </span>
  </li>
);

/** Who changed a rule, what and when: the last change, and the others on demand. */
export const RuleChanges = ({
  workspace,
  id,
  version,
}: {
  readonly workspace: string;
  readonly id: string;
  readonly version: number;
}) => {
  const desk = useDesk();
  const [open, setOpen] = useState(false);
  // A new version is a new change.
  const { data, error } = useQuery({
    queryKey: ["rule-changes", workspace, id, version],
    queryFn: () => desk.call("rule_changes", { workspace, id }),
    placeholderData: (before) => before,
  });
  if (error !== null) return <Failed error={error} className="m-0 mt-1.5" />;
  if (data === undefined || data.changes.length === 0) return null;
  const shown = open ? data.changes : data.changes.slice(0, 1);
  return (
    <div className="mt-1.5 text-[12.5px] text-text-2" data-testid="rule-changes">
      <ul className="m-0 max-h-36 list-none overflow-auto p-0">
        {shown.map((of) => (
          <Line key={`${of.version} ${of.kind} ${of.atMs}`} of={of} />
        ))}
      </ul>
      {data.changes.length < 2 ? null : (
        <button
          type="button"
          className="text-xs text-accent hover:underline"
          aria-expanded={open}
          onClick={() => {
            setOpen(!open);
          }}
        >
          {open ? "Only the last change" : `All ${data.changes.length} changes`}
        </button>
      )}
      {open && data.more ? <span className="ml-2 text-xs text-text-3">Older ones are in the audit log.</span> : null}
    </div>
  );
};
