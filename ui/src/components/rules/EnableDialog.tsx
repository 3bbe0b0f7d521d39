import { useState } from "react";
import { Button } from "../Button";
import { Overlay } from "../Overlay";
import { useHere } from "../useHere";
import type { PreviewReport } from "../../ipc/generated";
import { Cases } from "./Cases";

interface EnableDialogProps {
  /** None when the simulation was not waited for. */
  readonly report: PreviewReport | null;
  readonly onEnable: () => Promise<unknown>;
  readonly onClose: () => void;
}

const calls = (count: number): string => `${count.toLocaleString("en")} ${count === 1 ? "call" : "calls"}`;

/** Asks twice before a rule may approve what people denied, or what nobody has looked at. */
export const EnableDialog = ({ report, onEnable, onClose }: EnableDialogProps) => {
  const [second, setSecond] = useState(false);
  const here = useHere();
  const [busy, setBusy] = useState(false);
  const denied = report?.denied ?? 0;
  const enable = async (): Promise<void> => {
    setBusy(true);
    await onEnable();
    // Closed meanwhile, it would close what was opened after it.
    if (here.current) onClose();
  };
  return (
    <Overlay title={second ? "Once more: enable it?" : "Enable this rule?"} onClose={onClose}>
      <div data-testid="enable" data-step={second ? 2 : 1}>
        {second ? (
          <p className="mt-0 text-text-2">
            Calls like these will run without asking a person, in every console.{" "}
            {denied > 0 ? (
              <>
                A person denied <b className="font-semibold text-bad">{calls(denied)}</b> of them in the past.{" "}
              </>
            ) : null}
            You can turn the rule off at any time.
          </p>
        ) : report === null ? (
          <p className="mt-0 text-text-2">
            The 90-day simulation has not finished; this rule might approve calls that people denied.
          </p>
        ) : (
          <>
            <p className="mt-0 text-text-2">
              It would have approved <b className="font-semibold text-bad">{calls(denied)}</b> that a person had denied:
            </p>
            <Cases
              cases={report.flips.filter((found) => found.rule === "approve")}
              more={Math.max(denied - report.flips.length, 0)}
              testId="enable-flips"
            />
          </>
        )}
      </div>
      <div className="mt-5 flex justify-end gap-2.5">
        {/* oxlint-disable-next-line jsx-a11y/no-autofocus -- a stray Enter must do nothing */}
        <Button autoFocus onClick={onClose}>
          Cancel <kbd className="kbd">Esc</kbd>
        </Button>
        {second ? (
          <Button tone="deny" disabled={busy} data-testid="enable-yes" onClick={() => void enable()}>
            {busy ? "Sending to the bus…" : "Enable"}
          </Button>
        ) : (
          <Button
            tone="deny"
            data-testid="enable-next"
            onClick={() => {
              setSecond(true);
            }}
          >
            Go on…
          </Button>
        )}
      </div>
    </Overlay>
  );
};
