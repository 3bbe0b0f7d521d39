/** How long an answer is waited for. */
import { CallError, type CommandName } from "./transport";

/** A console that is there answers these at once: where it does not, it is lost. */
const HEARTBEAT: ReadonlySet<CommandName | "subscribe"> = new Set(["server_time", "status", "subscribe"]);
const HEARTBEAT_MS = 10_000;
/** Longer than any command may take: the longest wait half a minute for the past, then for the bus. */
const COMMAND_MS = 90_000;

/**
 * Rejects where the answer does not come in time. Only the heartbeat shows that the console is lost: what else takes
 * long may be done yet.
 */
export const limited = async <T>(name: CommandName | "subscribe", work: Promise<T>): Promise<T> => {
  const beats = HEARTBEAT.has(name);
  const limitMs = beats ? HEARTBEAT_MS : COMMAND_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        beats
          ? new CallError(
              "ipc_lost",
              `The console did not answer within ${limitMs / 1_000} s. Look at the card again before you decide.`,
            )
          : new CallError(
              "failed",
              `No answer came within ${limitMs / 1_000} s. It may have been done: check before you repeat it.`,
            ),
      );
    }, limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
};
