/** The only module that speaks to the shell. */
import { Channel, invoke } from "@tauri-apps/api/core";
import type { InboxBatch } from "./generated";
import { CallError, toCallError, type ArgsOf, type CommandName, type ResultOf, type Transport } from "./transport";

/** No command takes longer; one that does has lost its answer. */
const LIMIT_MS = 10_000;

const limited = async <T>(work: Promise<T>): Promise<T> => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new CallError("ipc_lost", "The console did not answer within 10 s. Look at the card again before you decide."));
    }, LIMIT_MS);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
};

export const shell: Transport = {
  async call<N extends CommandName>(name: N, args: ArgsOf<N>): Promise<ResultOf<N>> {
    try {
      return await limited(invoke<ResultOf<N>>("call", { name, args }));
    } catch (thrown) {
      throw toCallError(thrown);
    }
  },
  async subscribe(onBatch: (batch: InboxBatch) => void): Promise<() => void> {
    const channel = new Channel<InboxBatch>();
    let open = true;
    channel.onmessage = (batch) => {
      if (open) onBatch(batch);
    };
    try {
      await limited(invoke<null>("subscribe", { channel }));
    } catch (thrown) {
      throw toCallError(thrown);
    }
    return () => {
      open = false;
    };
  },
};
