import { useEffect, useRef, useState } from "react";
import { Confirm } from "../components/Confirm";
import { Overlay } from "../components/Overlay";
import { useDesk, useStatus } from "../desk/DeskContext";
import { toCallError } from "../ipc/transport";

interface PanicProps {
  readonly onClose: () => void;
  /** It is not on, and why; also told once the dialog is closed. */
  readonly onFailed: (why: string) => void;
}

/** Turning panic on asks nothing: it is safe, and there is no time. */
const PanicOn = ({ onClose, onFailed }: PanicProps) => {
  const desk = useDesk();
  const asked = useRef(false);
  const [on, setOn] = useState(false);
  useEffect(() => {
    if (asked.current) return;
    asked.current = true;
    desk.call("panic", { on: true }).then(
      () => { setOn(true); },
      (thrown: unknown) => { onFailed(toCallError(thrown).message); },
    );
  }, [desk, onFailed]);
  return (
    <Overlay title="Panic" onClose={onClose}>
      <div data-testid="panic-dialog" role="status">
        {on ? "Panic is on: no console approves anything automatically. Everything waits for a person; denials still go out. The same key turns it off." : "Telling every console…"}
      </div>
    </Overlay>
  );
};

/** Panic was asked for and is not on. */
export const PanicFailed = ({ why, onClose }: { readonly why: string; readonly onClose: () => void }) => (
  <Overlay title="Panic" onClose={onClose}><span className="text-bad" role="alert">Panic is not on: {why}</span></Overlay>
);

/** The brake for everything: on at once, off only after one more question. */
export const PanicDialog = ({ onClose, onFailed }: PanicProps) => {
  const desk = useDesk();
  const [wasOn] = useState((useStatus()?.panic ?? null) !== null);
  return wasOn ? (
    <Confirm title="Turn panic off?" verb="Turn panic off" onConfirm={() => desk.call("panic", { on: false })} onClose={onClose}>
      Rules and setup keys may approve calls automatically again, in every console.
    </Confirm>
  ) : <PanicOn onClose={onClose} onFailed={onFailed} />;
};
