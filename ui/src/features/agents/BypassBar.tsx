import { useState } from "react";
import { Button } from "../../components/Button";
import { Confirm } from "../../components/Confirm";
import { tellLate } from "../../components/lateFailures";
import { Select } from "../../components/Select";
import { ShownText } from "../../components/ShownText";
import { Moment } from "../../components/Moment";
import { useHere } from "../../components/useHere";
import { useDesk, useServerSecond, useStatus } from "../../desk/DeskContext";
import type { BypassView, Risk } from "../../ipc/generated";
import { toCallError } from "../../ipc/transport";

const RISKS: readonly Risk[] = ["safe", "low", "medium", "high"];
const TIMES = [
  { seconds: 900, label: "15 minutes" },
  { seconds: 3_600, label: "1 hour" },
  { seconds: 4 * 3_600, label: "4 hours" },
  { seconds: 8 * 3_600, label: "8 hours" },
] as const;
const SELECT = "border-line py-1 text-text";

/** The bypass of an agent that is not over. */
const useBypass = (agent: string): BypassView | null => {
  const now = useServerSecond();
  return useStatus()?.bypasses.find((bypass) => bypass.agent === agent && bypass.untilMs > now) ?? null;
};

const Ask = ({ agent, onClose }: { readonly agent: string; readonly onClose: () => void }) => {
  const desk = useDesk();
  const [upTo, setUpTo] = useState<Risk>("low");
  const [seconds, setSeconds] = useState<number>(900);
  return (
    <Confirm
      title={`Approve calls of ${agent} without asking?`}
      verb="Start the bypass"
      dangerous
      onConfirm={() => desk.call("bypass", { agent, grant: { upTo, seconds } })}
      onClose={onClose}
    >
      <div className="flex flex-wrap items-center gap-2.5 text-text">
        <label>
          Up to risk{" "}
          <Select
            className={SELECT}
            data-testid="bypass-risk"
            value={upTo}
            onChange={(event) => {
              setUpTo(RISKS.find((risk) => risk === event.target.value) ?? "low");
            }}
          >
            {RISKS.map((risk) => (
              <option key={risk}>{risk}</option>
            ))}
          </Select>
        </label>
        <label>
          for{" "}
          <Select
            className={SELECT}
            data-testid="bypass-time"
            value={seconds}
            onChange={(event) => {
              setSeconds(Number(event.target.value));
            }}
          >
            {TIMES.map((time) => (
              <option key={time.seconds} value={time.seconds}>
                {time.label}
              </option>
            ))}
          </Select>
        </label>
      </div>
      <p className="mb-0">
        Until then, every console approves its calls in your name without asking, waiting ones too. Rules that deny or
        ask still win, and critical calls always ask. Every call is recorded; the status bar shows the bypass.
      </p>
    </Confirm>
  );
};

/** Starts a bypass after one more question, and ends one at once. */
export const BypassBar = ({ agent, disabled }: { readonly agent: string; readonly disabled: boolean }) => {
  const desk = useDesk();
  const bypass = useBypass(agent);
  const panic = (useStatus()?.panic ?? null) !== null;
  const here = useHere();
  const [asked, setAsked] = useState(false);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const end = async (): Promise<void> => {
    setBusy(true);
    setTrouble(null);
    try {
      await desk.call("bypass", { agent, grant: null });
    } catch (thrown) {
      const { message } = toCallError(thrown);
      if (here.current) setTrouble(message);
      else tellLate(`End the bypass of ${agent}?`, `It failed: ${message}`);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      {trouble === null ? null : (
        <span role="alert" className="text-bad">
          {trouble}
        </span>
      )}
      {bypass === null ? (
        <Button
          disabled={disabled}
          onClick={() => {
            setAsked(true);
          }}
        >
          Bypass…
        </Button>
      ) : (
        <>
          <span className="text-warn" data-testid="agent-bypass">
            bypass up to <b className="font-semibold">{bypass.upTo}</b> until <Moment ms={bypass.untilMs} />, by{" "}
            <ShownText text={bypass.by} />
            {panic ? ", not while panic is on" : ""}
          </span>
          <Button disabled={disabled || busy} onClick={() => void end()}>
            {busy ? "Sending to the bus…" : "End the bypass"}
          </Button>
        </>
      )}
      {asked ? (
        <Ask
          agent={agent}
          onClose={() => {
            setAsked(false);
          }}
        />
      ) : null}
    </>
  );
};
