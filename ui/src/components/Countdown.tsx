import { formatLeft, isHot } from "../desk/clock";
import { useServerSecond } from "../desk/DeskContext";

interface CountdownProps {
  readonly deadlineMs: number;
  /** False when the agent set none: a dash means the longest lifetime. */
  readonly hasDeadline: boolean;
  readonly large?: boolean;
}

/** Time left by the server's clock. */
export const Countdown = ({ deadlineMs, hasDeadline, large = false }: CountdownProps) => {
  const left = deadlineMs - useServerSecond();
  const size = large ? "text-[15px]" : "text-[11.5px]";
  if (!hasDeadline) {
    return (
      <span
        className={`font-mono text-text-2 ${size}`}
        title="The agent set no deadline; the request expires after 30 days"
      >
        —
      </span>
    );
  }
  return (
    <time data-ticks="" className={`font-mono whitespace-nowrap ${isHot(left) ? "text-bad" : "text-text-2"} ${size}`}>
      {formatLeft(left)}
      {large ? " left" : ""}
    </time>
  );
};
