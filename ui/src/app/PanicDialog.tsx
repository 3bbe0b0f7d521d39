import { useEffect, useRef, useState } from "react";
import { Confirm } from "../components/Confirm";
import { Overlay } from "../components/Overlay";
import { useDesk, useStatus } from "../desk/DeskContext";
import { toCallError } from "../ipc/transport";

/** Turning panic on asks nothing: it is safe, and there is no time. */
const PanicOn = ({ onClose }: { readonly onClose: () => void }) => {
  const desk = useDesk();
  const asked = useRef(false);
  const [state, setState] = useState<"asked" | "on" | { readonly trouble: string }>("asked");
  useEffect(() => {
    if (asked.current) return;
    asked.current = true;
    desk.call("panic", { on: true }).then(
      () => { setState("on"); },
      (thrown: unknown) => { setState({ trouble: toCallError(thrown).message }); },
    );
  }, [desk]);
  return (
    <Overlay title="Panic" onClose={onClose}>
      <div data-testid="panic-dialog" role="status">
        {state === "asked" ? "Telling every console…" : state === "on"
          ? "Panic is on: no console approves anything automatically. Everything waits for a person; denials still go out. The same key turns it off."
          : <span className="text-bad" role="alert">Panic is not on: {state.trouble}</span>}
      </div>
    </Overlay>
  );
};

/** The brake for everything: on at once, off only after one more question. */
export const PanicDialog = ({ onClose }: { readonly onClose: () => void }) => {
  const desk = useDesk();
  const [wasOn] = useState((useStatus()?.panic ?? null) !== null);
  return wasOn ? (
    <Confirm title="Turn panic off?" verb="Turn panic off" onConfirm={() => desk.call("panic", { on: false })} onClose={onClose}>
      Rules and setup keys may approve calls automatically again, in every console.
    </Confirm>
  ) : <PanicOn onClose={onClose} />;
};
