import { AlarmClock } from "lucide-react";
import { Button } from "../../../components/Button";
import { Popover } from "../../../components/over";
import { ShownText } from "../../../components/ShownText";
import { Moment } from "../../../components/Moment";
import type { Snoozed } from "../useSnoozes";

interface SnoozedListProps {
  readonly snoozed: readonly Snoozed[];
  readonly onWake: (key: string) => void;
}

/** What is put off: how many, what, until when, and back at once. */
export const SnoozedList = ({ snoozed, onWake }: SnoozedListProps) =>
  snoozed.length === 0 ? null : (
    <Popover.Root>
      <Popover.Trigger
        className="flex items-center gap-1 rounded px-1 text-text-3 hover:bg-raised hover:text-text"
        data-testid="snoozed"
      >
        <AlarmClock size={12} aria-hidden="true" /> {snoozed.length} snoozed
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          aria-label="Snoozed calls"
          sideOffset={6}
          align="start"
          className="z-20 max-h-80 w-[380px] overflow-auto rounded-lg border border-line bg-panel px-3 py-1 shadow-lg"
        >
          <ul className="m-0 list-none p-0">
            {snoozed.map(({ row, backMs }) => (
              <li key={row.key} className="row-line flex items-center gap-3 py-2 last:border-0">
                <span className="min-w-0 flex-1">
                  <span className="block truncate font-mono text-[12.5px] font-semibold">
                    <ShownText text={row.tool} />
                  </span>
                  <span className="block truncate text-[11.5px] text-text-3">
                    {row.agent}, back at <Moment ms={backMs} />
                  </span>
                </span>
                <Button
                  className="!px-2.5 !py-1 !text-xs"
                  onClick={() => {
                    onWake(row.key);
                  }}
                >
                  Back now
                </Button>
              </li>
            ))}
          </ul>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
