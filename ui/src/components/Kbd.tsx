import { hintOf, type CommandId } from "../hotkeys";

/** The key cap of a command. */
export const Kbd = ({ command, quiet = false }: { readonly command: CommandId; readonly quiet?: boolean }) => (
  <kbd className={quiet ? "kbd !border-current !bg-transparent !text-inherit" : "kbd"} aria-hidden="true">
    {hintOf(command)}
  </kbd>
);
