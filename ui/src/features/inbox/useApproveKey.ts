import { useSetting } from "../../commands/settings";
import type { DecidePath } from "../../ipc/generated";
import { approveKey } from "./steps";

/** Which key approves on a way now: with single keys switched off the chord does on each. */
export const useApproveKey = (path: DecidePath): ReturnType<typeof approveKey> => {
  const [singleKeys] = useSetting("singleKeys");
  return approveKey(path, singleKeys === "off");
};
