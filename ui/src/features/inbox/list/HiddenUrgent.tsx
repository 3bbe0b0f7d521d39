import { Kbd } from "../../../components/Kbd";
import { useServerSecond } from "../../../desk/DeskContext";
import type { InboxRow } from "../../../ipc/generated";
import { countSoon } from "../groups";

interface HiddenUrgentProps {
  readonly awake: readonly InboxRow[];
  /** Those that the filter leaves. */
  readonly rows: readonly InboxRow[];
}

/** What the filter hides though it is due soon. */
export const HiddenUrgent = ({ awake, rows }: HiddenUrgentProps) => {
  const now = useServerSecond();
  const hidden = countSoon(awake, now) - countSoon(rows, now);
  return hidden === 0 ? null : (
    <p role="status" className="m-0 px-3.5 pb-2 text-bad" data-testid="hidden-urgent">
      {hidden} due within a minute {hidden === 1 ? "is" : "are"} hidden by the filter: <Kbd command="mostUrgent" />
    </p>
  );
};
