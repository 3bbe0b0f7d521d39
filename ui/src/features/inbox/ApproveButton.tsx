import { useState } from "react";
import { Kbd } from "../../components/Kbd";
import { hintOf, type CommandId } from "../../hotkeys";
import type { ArmingView } from "./useArming";

interface ApproveButtonProps {
  readonly label: string;
  readonly command: CommandId;
  readonly arming: ArmingView;
  /** Every step of the way is done and something can be sent. */
  readonly ready: boolean;
  readonly onApprove: () => void;
}

/**
 * Approves by pointer. Refuses key activation: Enter and Space announce the key instead. A click of an
 * assistive tool, which no pointer went down for, passes through the same arming.
 */
export const ApproveButton = ({ label, command, arming, ready, onApprove }: ApproveButtonProps) => {
  const [said, setSaid] = useState("");
  const live = ready && arming.armed;
  return (
    <>
      <button
        type="button"
        aria-disabled={!live}
        aria-keyshortcuts={command === "approve" ? "A" : "Control+Shift+A"}
        data-testid="approve"
        data-armed={live}
        className={`flex items-center gap-2 rounded-lg border border-ok bg-ok px-3.5 py-2 font-semibold
          whitespace-nowrap text-ok-ink ${live ? "" : "opacity-45"}`}
        onKeyDown={(event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          setSaid(`Press ${hintOf(command).replace("⇧", "Shift")} to approve. Enter and Space do not.`);
        }}
        onKeyUp={(event) => {
          if (event.key === " ") event.preventDefault();
        }}
        onPointerDown={(event) => {
          arming.pressed(event.timeStamp);
        }}
        onClick={(event) => {
          if (ready && arming.acceptsClick(event.timeStamp)) onApprove();
        }}
      >
        {label} <Kbd command={command} quiet />
      </button>
      <span role="status" className="sr-only">
        {said}
      </span>
    </>
  );
};
