/** What the page needs of the shell. The real one is `client.ts`; tests bring their own. */
import type { Commands, InboxBatch, IpcError, IpcErrorCode } from "./generated";

export type CommandName = keyof Commands;
export type ArgsOf<N extends CommandName> = Commands[N][0];
export type ResultOf<N extends CommandName> = Commands[N][1];

export interface Transport {
  /** Rejects with {@link CallError} only. */
  call<N extends CommandName>(name: N, args: ArgsOf<N>): Promise<ResultOf<N>>;
  /** Batches in order, until the returned function is called. */
  subscribe(onBatch: (batch: InboxBatch) => void): Promise<() => void>;
  /** How large the page is drawn; 1 is its usual size. */
  zoom(factor: number): Promise<void>;
}

/** A failed command: branch on `code`, show `message`. */
export class CallError extends Error {
  readonly code: IpcErrorCode;
  constructor(code: IpcErrorCode, message: string) {
    super(message);
    this.name = "CallError";
    this.code = code;
  }
}

const isIpcError = (value: unknown): value is IpcError =>
  typeof value === "object" &&
  value !== null &&
  "code" in value &&
  "message" in value &&
  typeof value.code === "string" &&
  typeof value.message === "string";

/** Whatever a shell throws, as an error with a code. Anything unknown means that it is lost. */
export const toCallError = (thrown: unknown): CallError => {
  if (thrown instanceof CallError) return thrown;
  if (isIpcError(thrown)) return new CallError(thrown.code, thrown.message);
  return new CallError("ipc_lost", "The window has lost the console. Close it and open it again; nothing was decided.");
};
