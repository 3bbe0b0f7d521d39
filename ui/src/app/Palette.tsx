import { Command } from "cmdk";
import { useMemo, useState } from "react";
import { useCommandRunner } from "../commands/CommandContext";
import { nextChoice, useSetting } from "../commands/settings";
import { Overlay } from "../components/Overlay";
import { commandIds, definitionOf, hintOf, type CommandId } from "../hotkeys";
import { Finds } from "./Finds";

const ITEM =
  "flex items-center justify-between gap-3 rounded-md px-2.5 py-1.5 -outline-offset-2 " +
  "data-[selected=true]:bg-raised data-[selected=true]:outline-2 data-[selected=true]:outline-accent";

/**
 * Commands that can be run now, and what they are about. Enter chooses here, so nothing that lets a call run is
 * offered.
 */
export const Palette = ({ onClose }: { readonly onClose: () => void }) => {
  const { run, available } = useCommandRunner();
  const [theme, setTheme] = useSetting("theme");
  const [singleKeys, setSingleKeys] = useSetting("singleKeys");
  const [notifications, setNotifications] = useSetting("notifications");
  const offered = useMemo(() => {
    const now = available();
    return commandIds.filter(
      (id) => now.has(id) && definitionOf(id).approves !== true && id !== "palette" && id !== "back",
    );
  }, [available]);
  const [search, setSearch] = useState("");
  const leave = (then: () => void): void => {
    onClose();
    // After the dialog has given the focus back.
    setTimeout(then, 0);
  };
  const choose = (id: CommandId): void => {
    leave(() => {
      run(id, { at: performance.now(), repeat: false });
    });
  };
  return (
    <Overlay title="Commands" onClose={onClose}>
      <Command label="Commands">
        <Command.Input
          // oxlint-disable-next-line jsx-a11y/no-autofocus -- the palette is opened in order to type
          autoFocus
          className="mb-2 w-full rounded-md border border-line bg-bg px-2.5 py-2"
          placeholder="Type a command, a tool, an agent or a rule"
          value={search}
          onValueChange={setSearch}
        />
        <Command.List
          className={`max-h-[46vh] overflow-auto [&_[cmdk-group-heading]]:px-2.5
          [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:text-[11.5px] [&_[cmdk-group-heading]]:text-text-3`}
        >
          <Command.Empty className="px-2.5 py-2 text-text-3">Nothing found.</Command.Empty>
          {offered.map((id) => (
            <Command.Item
              key={id}
              value={definitionOf(id).label}
              className={ITEM}
              onSelect={() => {
                choose(id);
              }}
            >
              {definitionOf(id).label} <kbd className="kbd">{hintOf(id)}</kbd>
            </Command.Item>
          ))}
          <Command.Item
            value="Theme"
            className={ITEM}
            onSelect={() => {
              setTheme(nextChoice("theme", theme));
            }}
          >
            Theme <span className="text-text-3">{theme}</span>
          </Command.Item>
          <Command.Item
            value="Single keys"
            className={ITEM}
            onSelect={() => {
              setSingleKeys(nextChoice("singleKeys", singleKeys));
            }}
          >
            Single keys <span className="text-text-3">{singleKeys}</span>
          </Command.Item>
          <Command.Item
            value="Notifications"
            className={ITEM}
            onSelect={() => {
              setNotifications(nextChoice("notifications", notifications));
            }}
          >
            Notifications <span className="text-text-3">{notifications}</span>
          </Command.Item>
          {search.trim() === "" ? null : <Finds search={search} look={ITEM} onGo={leave} />}
        </Command.List>
      </Command>
    </Overlay>
  );
};
