import type { DeniedCalls } from "../../ipc/generated";
import { Confirm } from "../Confirm";
import type { Here } from "../useHere";
import { Cases } from "./Cases";

interface DeniedDialogProps {
  readonly denied: DeniedCalls;
  /** The word on the button that does it. */
  readonly verb: string;
  readonly onConfirm: (here: Here) => Promise<unknown>;
  readonly onClose: () => void;
}

/** Names the calls that people denied and a change of the rules would approve. Nothing was changed yet. */
export const DeniedDialog = ({ denied: { calls, count }, verb, onConfirm, onClose }: DeniedDialogProps) => (
  <Confirm title="This allows calls that people denied" verb={verb} dangerous onConfirm={onConfirm} onClose={onClose}>
    <div data-testid="denied-calls">
      {count === null ? (
        <p className="mt-0">The check for calls that people denied took too long. Nothing was changed.</p>
      ) : (
        <>
          <p className="mt-0">
            The remaining rules would allow{" "}
            {count === 1 ? (
              "this call"
            ) : (
              <>
                these <b className="font-semibold text-bad">{count.toLocaleString("en")} calls</b>
              </>
            )}{" "}
            that a person denied. Nothing was changed.
          </p>
          <Cases cases={calls} more={count - calls.length} testId="denied-list" />
        </>
      )}
    </div>
  </Confirm>
);
