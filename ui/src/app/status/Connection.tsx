import { useLost, useStatusError } from "../../desk/DeskContext";
import type { StatusView } from "../../ipc/generated";
import type { CallError } from "../../ipc/transport";

const INSECURE: Record<string, string> = {
  single_account: "Agents and consoles share one bus account: an agent could interfere with decisions for others",
  no_tls: "The connection to the bus is not encrypted",
  open_permissions: "The bus does not keep agents apart",
};

/** A way in which the bus is less safe than it should be. */
export const Insecure = ({ word }: { readonly word: string }) => (
  <span
    className="rounded bg-bad-bg px-1.5 font-semibold text-bad"
    title={INSECURE[word] ?? "Insecure"}
    data-testid="insecure"
  >
    {word.replaceAll("_", " ")}
  </span>
);

const agents = (count: number): string => `${count.toLocaleString("en")} ${count === 1 ? "agent" : "agents"}`;

const wordsOf = (
  status: StatusView | null,
  lost: boolean,
  error: CallError | null,
): { readonly ok: boolean; readonly words: string } => {
  if (lost) return { ok: false, words: "The window has lost the console" };
  if (error !== null) return { ok: false, words: `The status could not be read: ${error.message}` };
  if (status === null) return { ok: false, words: "Starting" };
  if (!status.bus.connected) return { ok: false, words: "The bus cannot be reached; decisions wait in the outbox" };
  if (!status.caughtUp) return { ok: false, words: "Connected, catching up with the bus" };
  return { ok: true, words: `Connected to NATS, ${agents(status.agents)}` };
};

/** Whether the bus is there, and how many agents were heard lately. */
export const Connection = ({ status }: { readonly status: StatusView | null }) => {
  const { ok, words } = wordsOf(status, useLost() !== null, useStatusError());
  const version = status?.bus.serverVersion ?? null;
  return (
    <span
      className={`flex items-center ${ok ? "" : "font-semibold text-warn"}`}
      data-testid="connection"
      data-ok={ok}
      title={status === null ? undefined : `${status.bus.url}${version === null ? "" : `, NATS ${version}`}`}
    >
      <span
        aria-hidden="true"
        className={`mr-1.5 inline-block size-[7px] shrink-0 rounded-full ${ok ? "bg-ok" : "bg-warn"}`}
      />
      {words}
    </span>
  );
};
