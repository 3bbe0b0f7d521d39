import { useEffect, useRef, useState } from "react";
import { ASKS_MORE, Confirm } from "../components/Confirm";
import { tellLate } from "../components/lateFailures";
import { Overlay } from "../components/Overlay";
import { WaitingDialog } from "../components/rules/WaitingDialog";
import { whyWaiting } from "../components/rules/whyNot";
import { useHere, type Here } from "../components/useHere";
import { useDesk, useStatus } from "../desk/DeskContext";
import type { WaitingCalls } from "../ipc/generated";
import { toCallError } from "../ipc/transport";

interface PanicProps {
  readonly onClose: () => void;
  /** Asked again by now, what was asked before says nothing of it any more. */
  readonly isLast: () => boolean;
}

/** Turning panic on asks nothing: it is safe, and time is short. */
const PanicOn = ({ onClose, isLast }: PanicProps) => {
  const desk = useDesk();
  const asked = useRef(false);
  const here = useHere();
  const [on, setOn] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(() => {
    if (asked.current) return;
    asked.current = true;
    desk.call("panic", { on: true, acceptWaiting: [] }).then(
      () => {
        setOn(true);
      },
      (thrown: unknown) => {
        const why = toCallError(thrown).message;
        if (here.current) setTrouble(why);
        else if (isLast()) tellLate("Panic was not turned on:", why);
      },
    );
  }, [desk, here, isLast]);
  return (
    <Overlay title="Panic" onClose={onClose}>
      <div
        data-testid="panic-dialog"
        role={trouble === null ? "status" : "alert"}
        className={trouble === null ? "" : "text-bad"}
      >
        {trouble !== null
          ? `Panic is not on: ${trouble}`
          : on
            ? "Panic is on: no console approves anything automatically. Rules still deny; every other call " +
              "waits for a person. The same key turns it off."
            : "Sending to every console…"}
      </div>
    </Overlay>
  );
};

/** Panic: on at once, off only after one more question. */
export const PanicDialog = ({ onClose, isLast }: PanicProps) => {
  const desk = useDesk();
  const [wasOn] = useState((useStatus()?.panic ?? null) !== null);
  const [waiting, setWaiting] = useState<WaitingCalls | null>(null);
  const off = async (acceptWaiting: string[], here: Here): Promise<unknown> => {
    const { waiting: calls } = await desk.call("panic", { on: false, acceptWaiting });
    if (calls === null) return null;
    if (here.current) setWaiting(calls);
    else tellLate("Turn panic off?", whyWaiting(calls));
    return ASKS_MORE;
  };
  if (!wasOn) return <PanicOn onClose={onClose} isLast={isLast} />;
  return waiting === null ? (
    <Confirm title="Turn panic off?" verb="Turn panic off" onConfirm={(here) => off([], here)} onClose={onClose}>
      Rules and setup keys may approve calls automatically again, in every console.
    </Confirm>
  ) : (
    <WaitingDialog
      waiting={waiting}
      verb="Turn panic off"
      onConfirm={(here) => off(waiting.keys, here)}
      onClose={onClose}
    />
  );
};
