import type { WaitingCalls } from "../../ipc/generated";
import { Confirm } from "../Confirm";
import type { Here } from "../useHere";
import { Cases } from "./Cases";

interface WaitingDialogProps {
  readonly waiting: WaitingCalls;
  /** What it does beside that, as the button says it: `Enable`. */
  readonly verb: string;
  readonly onConfirm: (here: Here) => Promise<unknown>;
  readonly onClose: () => void;
}

export const waitingWords = (count: number): string =>
  `Would approve ${count.toLocaleString("en")} ${count === 1 ? "call that is" : "calls that are"} still waiting.`;

/** Names the waiting calls that a change would approve at once. Nothing was changed yet. */
export const WaitingDialog = ({ waiting: { calls, keys }, verb, onConfirm, onClose }: WaitingDialogProps) => (
  // Other calls are another question: the focus goes back to the way out.
  <Confirm
    key={keys.join(" ")}
    title="Approve calls that are waiting?"
    verb={`${verb} and approve ${keys.length === 1 ? "it" : `all ${keys.length.toLocaleString("en")}`}`}
    dangerous
    onConfirm={onConfirm}
    onClose={onClose}
  >
    <div data-testid="waiting-calls">
      <p className="mt-0">
        <b className="font-semibold text-bad">{waitingWords(keys.length)}</b> Nothing was changed.
      </p>
      <Cases cases={calls} more={keys.length - calls.length} testId="waiting-list" />
    </div>
  </Confirm>
);
