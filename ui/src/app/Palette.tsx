import { Command } from "cmdk";
import { useMemo } from "react";
import { useCommandRunner } from "../commands/CommandContext";
import { nextChoice, useSetting } from "../commands/settings";
import { Overlay } from "../components/Overlay";
import { commandIds, definitionOf, hintOf, type CommandId } from "../hotkeys";

const ITEM =
  "flex items-center justify-between rounded-md px-2.5 py-1.5 -outline-offset-2 data-[selected=true]:bg-raised data-[selected=true]:outline-2 data-[selected=true]:outline-accent";

/** Commands that can be run now. Enter chooses here, so nothing that lets a call run is offered. */
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
  const choose = (id: CommandId): void => {
    onClose();
    // After the dialog has given the focus back.
    setTimeout(() => {
      run(id, { at: performance.now(), repeat: false });
    }, 0);
  };
  return (
    <Overlay title="Commands" onClose={onClose}>
      <Command label="Commands">
        <Command.Input
          // oxlint-disable-next-line jsx-a11y/no-autofocus -- the palette is opened in order to type
          autoFocus
          className="mb-2 w-full rounded-md border border-line bg-bg px-2.5 py-2"
          placeholder="Type a command"
        />
        <Command.List className="max-h-[46vh] overflow-auto">
          <Command.Empty className="px-2.5 py-2 text-text-3">No such command here.</Command.Empty>
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
        </Command.List>
      </Command>
    </Overlay>
  );
};
