import { Confirm } from "../Confirm";
interface LimitsDialogProps {
  readonly message: string;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Saving one rule signs them all: asks once more where that changes what others approve. */
export const LimitsDialog = ({ message, onConfirm, onClose }: LimitsDialogProps) => (
  <Confirm
    title="This changes other rules too"
    verb="Change them anyway"
    dangerous
    onConfirm={onConfirm}
    onClose={onClose}
  >
    <span data-testid="limits">{message}. Nothing was saved.</span>
  </Confirm>
);
