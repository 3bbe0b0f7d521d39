import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../../components/Button";
import { Confirm } from "../../components/Confirm";
import { tellLate } from "../../components/lateFailures";
import { ShownText } from "../../components/ShownText";
import { formatAgo } from "../../desk/clock";
import { useDesk, useLost, useStatus } from "../../desk/DeskContext";
import type { DeniedCalls, RuleRow, RuleWords, SavedRule, WaitingCalls } from "../../ipc/generated";
import { toCallError } from "../../ipc/transport";
import { DeniedDialog } from "../../components/rules/DeniedDialog";
import { RuleDesk } from "../../components/rules/RuleDesk";
import { whyDenied, whyWaiting } from "../../components/rules/whyNot";
import { WaitingDialog } from "../../components/rules/WaitingDialog";
import { Unread } from "../../components/Unread";
import type { Here } from "../../components/useHere";
import { Day } from "../../components/Moment";
import { RuleChanges } from "./RuleChanges";
import { Failed } from "../../components/Failed";

interface RulePaneProps {
  readonly workspace: string;
  readonly row: RuleRow;
  /** Somebody removed it while it was changed here. */
  readonly gone: boolean;
  readonly words: RuleWords;
  readonly nowMs: number;
  readonly onSaved: (saved: SavedRule) => void;
}

/** What could not be read is read again after this time. */
const SOON_MS = 300;
const AGAIN_MS = 3_000;

const STATE: Record<RuleRow["state"], string> = { on: "on", off: "off", shadow: "in shadow" };

/** What the rule did so far. */
const Record = ({ row, nowMs }: { readonly row: RuleRow; readonly nowMs: number }) => (
  <p className="m-0 text-text-3" data-testid="rule-record">
    version {row.version}
    {row.sinceMs === 0 ? null : (
      <>
        , <Day ms={row.sinceMs} />
      </>
    )}
    , {STATE[row.state]}.{" "}
    {row.uses === 0 ? "Never used" : row.uses === 1 ? "Used once" : `Used ${row.uses.toLocaleString("en")} times`}
    {row.lastUsedMs === null ? "" : `, last ${formatAgo(nowMs - row.lastUsedMs)}`}. Last error:{" "}
    {row.lastError === null ? (
      "none"
    ) : (
      <span className="text-warn">
        <ShownText text={row.lastError} />
      </span>
    )}
    . Regrets: {row.regrets === 0 ? "none" : <b className="font-semibold text-bad">{row.regrets}</b>}.
  </p>
);

/** Its decisions that people called wrong. */
const Regrets = ({ row }: { readonly row: RuleRow }) =>
  row.lastRegrets.length === 0 ? null : (
    <ul className="m-0 mt-2 max-h-24 list-none overflow-auto p-0 text-[12.5px]" data-testid="rule-regrets">
      {row.lastRegrets.map((regret) => (
        <li key={regret.key} className="py-0.5">
          <Link to="/history/request" search={{ key: regret.key }} className="text-text hover:underline">
            {regret.key}
          </Link>
          <span className="text-text-3">
            , version {regret.version}, <ShownText text={regret.by} />
            {regret.atMs === 0 ? null : (
              <>
                , <Day ms={regret.atMs} />
              </>
            )}
          </span>
          {regret.reason === null ? null : (
            <span className="text-text-2">
              : “<ShownText text={regret.reason} />”
            </span>
          )}
        </li>
      ))}
    </ul>
  );

/** A rule's page: what it did, its words, and what they would have done. */
export const RulePane = ({ workspace, row, gone, words, nowMs, onSaved }: RulePaneProps) => {
  const desk = useDesk();
  const queries = useQueryClient();
  const lost = useLost();
  const readOnly = useStatus()?.readOnly ?? null;
  const [removing, setRemoving] = useState(false);
  const { data, failureCount, failureReason } = useQuery({
    // A new version is a new text.
    queryKey: ["rule", workspace, row.id, row.version],
    queryFn: () => desk.call("rule_text", { workspace, id: row.id }),
    placeholderData: (before) => (before?.id === row.id ? before : undefined),
    enabled: !gone,
    // It stays on what was read last until it can be read: somebody may be typing over it.
    retry: true,
    retryDelay: (failures) => (failures === 0 ? SOON_MS : AGAIN_MS),
  });
  const unread = failureCount > 1 ? failureReason : null;
  const [limits, setLimits] = useState(false);
  const [denied, setDenied] = useState<DeniedCalls | null>(null);
  // With what was accepted before it.
  const [waiting, setWaiting] = useState<{ calls: WaitingCalls; acceptDenied: boolean } | null>(null);
  const remove = async (acceptDenied: boolean, acceptWaiting: string[], here: Here): Promise<void> => {
    try {
      const removed = await desk.call("remove_rule", {
        workspace,
        id: row.id,
        acceptLimits: limits,
        acceptDenied,
        acceptWaiting,
      });
      if (removed.waiting !== null) {
        if (here.current) setWaiting({ calls: removed.waiting, acceptDenied });
        else tellLate(`Remove the rule ${row.id}?`, whyWaiting(removed.waiting));
        return;
      }
      if (removed.denied !== null) {
        if (here.current) setDenied(removed.denied);
        else tellLate(`Remove the rule ${row.id}?`, whyDenied(removed.denied));
        return;
      }
    } catch (thrown) {
      // Shown in the dialog, which offers it once more; what no dialog has shown, the next one does not know.
      if (here.current) setLimits(toCallError(thrown).code === "verdict_not_allowed");
      throw thrown;
    }
    await queries.invalidateQueries({ queryKey: ["rules"] });
  };
  return (
    <article
      className="flex min-h-0 flex-1 flex-col"
      aria-label="Rule"
      data-testid="rule"
      data-id={row.id}
      data-state={row.state}
      data-version={row.version}
    >
      <header className="px-5 pt-[18px]">
        <h2 className="selectable m-0 mb-1 text-base font-semibold">
          <ShownText text={row.name} />
        </h2>
        <Record row={row} nowMs={nowMs} />
        {row.uses === 0 ? null : (
          <Link className="text-xs text-accent hover:underline" to="/history" search={{ ws: workspace, rule: row.id }}>
            What it decided
          </Link>
        )}
        <RuleChanges workspace={workspace} id={row.id} version={row.version} />
        <Regrets row={row} />
      </header>
      {data === undefined ? (
        <div className="grid flex-1 place-items-center text-text-3">
          {unread === null ? "Reading the rule…" : <Failed error={unread} className="px-5" />}
        </div>
      ) : (
        <>
          <Unread error={unread} className="mx-5 mt-3 mb-0" />
          <RuleDesk workspace={workspace} rule={data} words={words} state={row.state} gone={gone} onSaved={onSaved}>
            <Button
              tone="quiet"
              disabled={gone || lost !== null || readOnly !== null}
              onClick={() => {
                // What a closed dialog has shown, this one has not.
                setLimits(false);
                setRemoving(true);
              }}
            >
              Remove…
            </Button>
          </RuleDesk>
        </>
      )}
      {removing ? (
        <Confirm
          title="Remove this rule?"
          verb={limits ? "Remove anyway" : "Remove"}
          dangerous
          onConfirm={(here) => remove(false, [], here)}
          onClose={() => {
            setRemoving(false);
            setLimits(false);
          }}
        >
          No console uses it any more. Its past decisions stay in the history, with its text.
        </Confirm>
      ) : null}
      {denied === null ? null : (
        <DeniedDialog
          denied={denied}
          verb={limits ? "Change other rules and remove it" : "Remove it anyway"}
          onConfirm={(here) => remove(true, [], here)}
          onClose={() => {
            setDenied(null);
            setLimits(false);
          }}
        />
      )}
      {waiting === null ? null : (
        <WaitingDialog
          waiting={waiting.calls}
          verb="Remove"
          onConfirm={(here) => remove(waiting.acceptDenied, waiting.calls.keys, here)}
          onClose={() => {
            setWaiting(null);
            setLimits(false);
          }}
        />
      )}
    </article>
  );
};
