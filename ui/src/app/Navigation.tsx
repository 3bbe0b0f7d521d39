import { Link } from "@tanstack/react-router";
import {
  Bot,
  ChartColumn,
  ChartGantt,
  Check,
  History,
  Inbox,
  MailX,
  Scale,
  Settings,
  SlidersHorizontal,
  Users,
  type LucideIcon,
} from "lucide-react";
import { Tooltip } from "radix-ui";
import { useSetting } from "../commands/settings";
import { hintOf, type CommandId } from "../hotkeys";
import { useInboxRows, useLoaded, useStatus } from "../desk/DeskContext";
import { useSnoozes } from "../features/inbox/useSnoozes";

interface ItemProps {
  readonly to:
    | "/"
    | "/agents"
    | "/history"
    | "/operators"
    | "/overview"
    | "/rejected"
    | "/rules"
    | "/settings"
    | "/setup"
    | "/traces";
  readonly icon: LucideIcon;
  readonly name: string;
  readonly command: CommandId;
  readonly count: number;
  /** Waits for a person: drawn in red. */
  readonly urgent: boolean;
}

const Item = ({ to, icon: Icon, name, command, count, urgent }: ItemProps) => {
  const named = useSetting("screenNames")[0] === "always";
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>
        <Link
          to={to}
          className={`relative grid min-h-10 place-items-center content-center gap-0.5 rounded-lg text-text-3
            hover:text-text data-[status=active]:bg-raised data-[status=active]:text-text
            ${named ? "w-[66px] py-1" : "w-10 min-[1200px]:w-[66px] min-[1200px]:py-1"}`}
        >
          <Icon size={18} aria-hidden="true" />
          <span className={`text-[10.5px]/[13px] ${named ? "" : "max-[1200px]:sr-only"}`}>{name}</span>
          {count > 0 ? (
            <span
              className={`absolute top-1 left-[calc(50%+4px)] rounded-full px-1 text-[9px]/[13px] font-semibold
                ${urgent ? "bg-bad-fill text-white" : "border border-line bg-panel text-text-2"}`}
            >
              <span className="sr-only">, </span>
              {count > 999 ? "999+" : count}
            </span>
          ) : null}
        </Link>
      </Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content
          side="right"
          sideOffset={8}
          className="z-20 rounded-md border border-line bg-raised px-2 py-1 text-xs shadow-lg"
        >
          {name} <kbd className="kbd ml-1">{hintOf(command)}</kbd>
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
};

/** The screens that work. */
export const Navigation = () => {
  const { awake } = useSnoozes(useInboxRows());
  const waiting = useLoaded() ? awake.length : 0;
  const rejected = useStatus()?.rejected ?? 0;
  return (
    <nav
      className={`flex min-h-0 flex-col items-center gap-1 overflow-x-clip overflow-y-auto border-r border-line
        px-[7px] py-3 [scrollbar-width:none]`}
      aria-label="Screens"
    >
      <span className="mb-2.5 grid size-8 place-items-center rounded-lg bg-accent text-accent-ink" aria-hidden="true">
        <Check size={17} strokeWidth={3} />
      </span>
      <Item to="/" icon={Inbox} name="Inbox" command="inbox" count={waiting} urgent />
      <Item to="/history" icon={History} name="History" command="history" count={0} urgent={false} />
      <Item to="/traces" icon={ChartGantt} name="Traces" command="traces" count={0} urgent={false} />
      <Item to="/agents" icon={Bot} name="Agents" command="agents" count={0} urgent={false} />
      <Item to="/operators" icon={Users} name="Operators" command="operators" count={0} urgent={false} />
      <Item to="/rules" icon={Scale} name="Rules" command="rules" count={0} urgent={false} />
      <Item to="/setup" icon={SlidersHorizontal} name="Setup" command="setup" count={0} urgent={false} />
      <Item to="/overview" icon={ChartColumn} name="Overview" command="overview" count={0} urgent={false} />
      <Item to="/rejected" icon={MailX} name="Rejected" command="rejected" count={rejected} urgent={false} />
      <span className="mt-auto" />
      <Item to="/settings" icon={Settings} name="Settings" command="settings" count={0} urgent={false} />
    </nav>
  );
};
