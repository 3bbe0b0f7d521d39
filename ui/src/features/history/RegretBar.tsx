import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/Button";
import { Confirm } from "../../components/Confirm";
import { tellLate } from "../../components/lateFailures";
import { plainText } from "../../components/shown";
import { DeniedDialog } from "../../components/rules/DeniedDialog";
import { whyDenied } from "../../components/rules/whyNot";
import { ShownText } from "../../components/ShownText";
import type { Here } from "../../components/useHere";
import { useDesk, useLost, useStatus } from "../../desk/DeskContext";
import type { DeniedCalls, RequestStoryView, SuspendedView } from "../../ipc/generated";

const QUESTION = "Mark this automatic decision as wrong?";
const MEANS: Record<string, string> = {
  rule: "Its rule is turned off in every console until somebody enables it again.",
  setup_key: "The setup key that let it pass is unbound, so its calls ask again.",
};
const DONE: Record<string, string> = { rule: "is off", setup_key: "is unbound", bypass: "has ended" };

/** On an automatic decision: says that it was wrong, which suspends what decided. */
export const RegretBar = ({ story }: { readonly story: RequestStoryView }) => {
  const desk = useDesk();
  const queries = useQueryClient();
  const lost = useLost();
  const readOnly = useStatus()?.readOnly ?? null;
  const [asking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  const [done, setDone] = useState<SuspendedView | null>(null);
  const [denied, setDenied] = useState<DeniedCalls | null>(null);
  const { row } = story;
  const origin = row.origin === null ? "" : plainText(row.origin);
  if (row.state !== "decided" || row.rule === null || (origin !== "rule" && origin !== "setup_key")) return null;
  const regret = async (acceptDenied: boolean, here: Here): Promise<void> => {
    const outcome = await desk.call("regret", {
      key: row.key,
      reason: reason.trim() === "" ? null : reason.trim(),
      acceptDenied,
    });
    setDone(outcome.suspended);
    if (here.current) setDenied(outcome.denied);
    else if (outcome.denied !== null) tellLate(QUESTION, whyDenied(outcome.denied));
    await Promise.all([
      queries.invalidateQueries({ queryKey: ["rules"] }),
      queries.invalidateQueries({ queryKey: ["story", row.key] }),
    ]);
  };
  return (
    <div className="mb-5" data-testid="regret">
      {done === null ? (
        <Button
          tone="deny"
          disabled={lost !== null || readOnly !== null}
          onClick={() => {
            setAsking(true);
          }}
        >
          This was wrong…
        </Button>
      ) : (
        <p role="status" className="m-0 text-warn-text">
          Recorded as wrong:{" "}
          <b className="font-mono font-semibold">
            <ShownText text={done.id} />
          </b>{" "}
          {DONE[done.what] ?? "is suspended"}.
        </p>
      )}
      {asking ? (
        <Confirm
          title={QUESTION}
          verb="Suspend it"
          dangerous
          onConfirm={(here) => regret(false, here)}
          onClose={() => {
            setAsking(false);
          }}
        >
          <p className="mt-0">{MEANS[origin]} Past decisions cannot be recalled.</p>
          <label className="block">
            Why
            <input
              className="mt-1 block w-full rounded-md border border-line bg-bg px-2.5 py-2 text-text"
              value={reason}
              maxLength={240}
              placeholder="For the next person who looks at the rule"
              onChange={(event) => {
                setReason(event.target.value);
              }}
            />
          </label>
        </Confirm>
      ) : null}
      {denied === null ? null : (
        <DeniedDialog
          denied={denied}
          verb="Suspend it anyway"
          onConfirm={(here) => regret(true, here)}
          onClose={() => {
            setDenied(null);
          }}
        />
      )}
    </div>
  );
};
