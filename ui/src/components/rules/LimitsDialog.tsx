import { Confirm } from "../Confirm";
import type { Held } from "./useRuleEdit";

interface LimitsDialogProps {
  readonly held: Held;
  readonly onConfirm: (held: Held) => Promise<unknown>;
  readonly onClose: () => void;
}

/** Saving one rule signs them all: asks once more where that changes what others approve. */
export const LimitsDialog = ({ held, onConfirm, onClose }: LimitsDialogProps) => (
  <Confirm title="This changes other rules too" verb="Change them all the same" dangerous onConfirm={() => onConfirm(held)} onClose={onClose}>
    <span data-testid="limits">{held.message}. Nothing was saved.</span>
  </Confirm>
);
