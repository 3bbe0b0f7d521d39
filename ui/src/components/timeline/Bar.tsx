import type { TraceLine } from "../../ipc/generated";
import { barOf } from "./looks";
import { placed, type TimeWindow } from "./scale";

interface BarProps {
  readonly line: TraceLine;
  readonly view: TimeWindow;
  /** How far something that goes on is drawn. */
  readonly untilMs: number;
}

const percent = (value: number): string => `${value.toFixed(3)}%`;

/** The time of one line; the wait for a decision in it is hatched. */
export const Bar = ({ line, view, untilMs }: BarProps) => {
  const goesOn = line.look === "running" || line.look === "waiting" || line.look === "unfinished";
  const all = placed(line.startMs, line.endMs ?? (goesOn ? untilMs : line.startMs), view);
  const hatched = line.kind === "approval" || line.kind === "request";
  const wait = line.wait === null || hatched ? null : placed(line.wait.startMs, line.wait.endMs, view);
  return (
    <span className="relative block h-2.5 overflow-hidden" aria-hidden="true">
      {all === null ? null : (
        <i className={barOf(line)} style={{ left: percent(all.left), width: percent(all.width) }} />
      )}
      {wait === null ? null : (
        <i className="bar bar-wait" style={{ left: percent(wait.left), width: percent(wait.width) }} />
      )}
    </span>
  );
};
