import { useState, type ReactNode } from "react";
import { toCallError } from "../ipc/transport";
import { Button } from "./Button";
import { tellLate } from "./lateFailures";
import { Overlay } from "./Overlay";
import { useHere, type Here } from "./useHere";

export const ASKS_MORE = "asks more";

interface ConfirmProps {
  readonly title: string;
  /** What it will do, and to whom. */
  readonly children: ReactNode;
  /** The word on the button that does it. */
  readonly verb: string;
  readonly dangerous?: boolean;
  /** What the button says while it is done. */
  readonly doing?: string;
  /**
   * Gets whether the dialog that asked is still open: an answer that comes later belongs into no other one.
   * `ASKS_MORE` leaves it open: one more question follows.
   */
  readonly onConfirm: (here: Here) => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks once more before something that reaches beyond this window. The focus starts on the way out. */
export const Confirm = ({
  title,
  children,
  verb,
  dangerous = false,
  doing = "Sending to the bus…",
  onConfirm,
  onClose,
}: ConfirmProps) => {
  const here = useHere();
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const confirm = async (): Promise<void> => {
    setBusy(true);
    setTrouble(null);
    try {
      const answer = await onConfirm(here);
      // Closed meanwhile, it would close what was opened after it.
      if (here.current && answer !== ASKS_MORE) onClose();
    } catch (thrown) {
      const why = toCallError(thrown).message;
      if (here.current) setTrouble(why);
      else tellLate(title, `It failed: ${why}`);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Overlay title={title} onClose={onClose}>
      <div className="text-text-2" data-testid="confirm">
        {children}
      </div>
      {trouble === null ? null : (
        <p role="alert" className="mt-3 mb-0 text-bad">
          {trouble}
        </p>
      )}
      <div className="mt-5 flex justify-end gap-2.5">
        {/* oxlint-disable-next-line jsx-a11y/no-autofocus -- a stray Enter must do nothing */}
        <Button autoFocus onClick={onClose}>
          Cancel <kbd className="kbd">Esc</kbd>
        </Button>
        <Button
          tone={dangerous ? "deny" : "plain"}
          disabled={busy}
          data-testid="confirm-yes"
          onClick={() => void confirm()}
        >
          {busy ? doing : verb}
        </Button>
      </div>
    </Overlay>
  );
};
