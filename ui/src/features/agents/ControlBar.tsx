import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/Button";
import { ASKS_MORE, Confirm } from "../../components/Confirm";
import { tellLate } from "../../components/lateFailures";
import { WaitingDialog } from "../../components/rules/WaitingDialog";
import { whyWaiting } from "../../components/rules/whyNot";
import { ShownText } from "../../components/ShownText";
import type { Here } from "../../components/useHere";
import { formatFor } from "../../desk/clock";
import { useDesk, useLost, useStatus } from "../../desk/DeskContext";
import type { AgentView, ControlState, WaitingCalls } from "../../ipc/generated";
import { BypassBar } from "./BypassBar";

interface Control {
  readonly state: ControlState;
  readonly verb: string;
  readonly means: string;
}

const PAUSE: Control = {
  state: "paused",
  verb: "Pause",
  means: "No console approves its calls automatically. Its requests still reach people.",
};
const STOP: Control = {
  state: "stopped",
  verb: "Stop",
  means:
    "Its waiting calls are terminated now, and new calls are denied until you resume it. Calls that already run " +
    "cannot be recalled.",
};
const RESUME: Control = {
  state: "running",
  verb: "Resume",
  means: "Rules and setup keys may approve its calls again, and its new calls reach the inbox.",
};

/** The state of an agent that nobody paused. */
const restState = ({ presence, lastSeenMs }: AgentView, nowMs: number): string => {
  if (presence === "unheard") return "Not paused, never heard. Rules and setup keys apply.";
  if (presence === "live" || lastSeenMs === null) return "Not paused. Rules and setup keys apply.";
  return `Not paused, silent for ${formatFor(nowMs - lastSeenMs)}.`;
};

/** Pauses, stops and resumes, each asked once more. */
export const ControlBar = ({ agent, nowMs }: { readonly agent: AgentView; readonly nowMs: number }) => {
  const desk = useDesk();
  const queries = useQueryClient();
  const lost = useLost();
  const readOnly = useStatus()?.readOnly ?? null;
  const [asked, setAsked] = useState<Control | null>(null);
  const { brake } = agent;
  const offered = brake === null ? [PAUSE, STOP] : brake.stopped ? [RESUME] : [RESUME, STOP];
  const [waiting, setWaiting] = useState<WaitingCalls | null>(null);
  const set = async (wanted: Control, acceptWaiting: string[], here: Here): Promise<unknown> => {
    const { waiting: calls } = await desk.call("brake", { agent: agent.key, state: wanted.state, acceptWaiting });
    if (calls !== null) {
      if (here.current) setWaiting(calls);
      else tellLate(`${wanted.verb} ${agent.key}?`, whyWaiting(calls));
      return ASKS_MORE;
    }
    await queries.invalidateQueries({ queryKey: ["agents"] });
    return null;
  };
  const close = (): void => {
    setAsked(null);
    setWaiting(null);
  };
  return (
    <div
      className="flex min-h-[63px] flex-wrap items-center gap-2.5 border-t border-line bg-panel px-7 py-3 narrow:px-4"
      role="toolbar"
      aria-label="Pause or stop the agent"
      data-testid="control-bar"
    >
      <span className="mr-auto text-text-2">
        {brake === null ? (
          restState(agent, nowMs)
        ) : (
          <>
            <b className={`font-semibold ${brake.stopped ? "text-bad" : "text-warn"}`}>
              {brake.stopped ? "Stopped" : "Paused"}
            </b>{" "}
            by <ShownText text={brake.by} />
          </>
        )}
      </span>
      <BypassBar agent={agent.key} disabled={lost !== null || readOnly !== null} />
      {offered.map((choice) => (
        <Button
          key={choice.state}
          tone={choice === STOP ? "deny" : "plain"}
          disabled={lost !== null || readOnly !== null}
          onClick={() => {
            setAsked(choice);
          }}
        >
          {choice.verb}…
        </Button>
      ))}
      {asked === null ? null : waiting === null ? (
        <Confirm
          title={`${asked.verb} ${agent.key}?`}
          verb={asked.verb}
          dangerous={asked === STOP}
          onConfirm={(here) => set(asked, [], here)}
          onClose={close}
        >
          {asked.means}
        </Confirm>
      ) : (
        <WaitingDialog
          waiting={waiting}
          verb={asked.verb}
          onConfirm={(here) => set(asked, waiting.keys, here)}
          onClose={close}
        />
      )}
    </div>
  );
};
