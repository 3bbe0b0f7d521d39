/** The only module that speaks to the shell. */
import { Channel, invoke } from "@tauri-apps/api/core";
import { getCurrentWebview } from "@tauri-apps/api/webview";
import type { InboxBatch } from "./generated";
import { limited } from "./limits";
import { toCallError, type ArgsOf, type CommandName, type ResultOf, type Transport } from "./transport";

export const shell: Transport = {
  async call<N extends CommandName>(name: N, args: ArgsOf<N>): Promise<ResultOf<N>> {
    try {
      return await limited(name, invoke<ResultOf<N>>("call", { name, args }));
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
      await limited("subscribe", invoke<null>("subscribe", { channel }));
    } catch (thrown) {
      throw toCallError(thrown);
    }
    return () => {
      open = false;
    };
  },
  zoom: (factor) => getCurrentWebview().setZoom(factor),
};
