import { useEffect } from "react";
import { useSetting } from "../commands/settings";
import { useDesk, useLost } from "../desk/DeskContext";

/** Sends the console which desktop notifications are wanted, also after it was lost. */
export const useNotifications = (): void => {
  const desk = useDesk();
  const lost = useLost();
  const [level] = useSetting("notifications");
  const reachable = lost === null;
  useEffect(() => {
    // A console that is lost shows it everywhere and gets the level again when it answers.
    if (reachable) desk.call("notify", { level }).catch(() => {});
  }, [desk, level, reachable]);
};
