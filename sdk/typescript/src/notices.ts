/** What the SDK says of itself: a warning of the process, or a line where `NODE_DEBUG=countersign` is set. */
import { debuglog } from "node:util";

const lines = debuglog("countersign");

/** What somebody should look at. Printed to standard error by Node; `process.on("warning")` hears it. */
export function warn(text: string): void {
  process.emitWarning(text, "CountersignWarning");
}

/** What happens and passes. */
export function note(text: string): void {
  lines("%s", text);
}

/** An error as a log may have it: never what somebody else's error holds. */
export function kindOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
