import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/Button";
import { Confirm } from "../../components/Confirm";
import { ShownText } from "../../components/ShownText";
import { useDesk, useLost, useStatus } from "../../desk/DeskContext";
import type { AgentView, BrakeState } from "../../ipc/generated";
import { BypassBar } from "./BypassBar";

interface Brake {
  readonly state: BrakeState;
  readonly verb: string;
  readonly means: string;
}

const PAUSE: Brake = {
  state: "paused",
  verb: "Pause",
  means: "Nothing of it is approved automatically any more, in no console. Its requests go on to wait for people.",
};
const STOP: Brake = {
  state: "stopped",
  verb: "Stop",
  means:
    "What waits of it is terminated now, and every new call is denied, until it is resumed. What runs already cannot be called back.",
};
const RESUME: Brake = {
  state: "running",
  verb: "Resume",
  means: "Rules and setup keys may approve its calls again, and its new calls reach the inbox.",
};

/** Pauses, stops and resumes, each asked once more. */
export const BrakeBar = ({ agent }: { readonly agent: AgentView }) => {
  const desk = useDesk();
  const queries = useQueryClient();
  const lost = useLost();
  const readOnly = useStatus()?.readOnly ?? null;
  const [asked, setAsked] = useState<Brake | null>(null);
  const { brake } = agent;
  const offered = brake === null ? [PAUSE, STOP] : brake.stopped ? [RESUME] : [RESUME, STOP];
  const set = async (wanted: Brake): Promise<void> => {
    await desk.call("brake", { agent: agent.key, state: wanted.state });
    await queries.invalidateQueries({ queryKey: ["agents"] });
  };
  return (
    <div
      className="flex min-h-[63px] items-center gap-2.5 border-t border-line bg-panel px-7 py-3"
      role="toolbar"
      aria-label="Hold the agent back"
      data-testid="brake-bar"
    >
      <span className="mr-auto text-text-2">
        {brake === null ? (
          "It runs: rules and setup keys apply."
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
      {asked === null ? null : (
        <Confirm
          title={`${asked.verb} ${agent.key}?`}
          verb={asked.verb}
          dangerous={asked === STOP}
          onConfirm={() => set(asked)}
          onClose={() => {
            setAsked(null);
          }}
        >
          {asked.means}
        </Confirm>
      )}
    </div>
  );
};
