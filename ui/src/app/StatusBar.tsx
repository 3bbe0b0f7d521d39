import { Monitor, Moon, Sun, TriangleAlert } from "lucide-react";
import { useCommandRunner } from "../commands/CommandContext";
import { nextChoice, useSetting } from "../commands/settings";
import { ShownText } from "../components/ShownText";
import { formatTime } from "../desk/clock";
import { useLost, useServerNow, useStatus } from "../desk/DeskContext";
import type { StatusView } from "../ipc/generated";

const INSECURE: Record<string, string> = {
  single_account: "Agents and consoles share one bus account: an agent could forge a stranger’s decision",
  no_tls: "The connection to the bus is not encrypted",
  open_permissions: "The bus does not keep agents apart",
};

const Chip = ({ word }: { readonly word: string }) => (
  <span className="rounded bg-bad-bg px-1.5 font-semibold text-bad" title={INSECURE[word] ?? "Insecure"} data-testid="insecure">{word.replaceAll("_", " ")}</span>
);

const Alarms = ({ count }: { readonly count: number }) => {
  const { run } = useCommandRunner();
  return (
    <button
      type="button" data-testid="alarms" data-count={count}
      className={`flex items-center gap-1.5 rounded px-1 hover:bg-raised ${count > 0 ? "font-semibold text-bad" : "hover:text-text"}`}
      onClick={(event) => { run("alarms", { at: event.timeStamp, repeat: false }); }}
    >
      <TriangleAlert size={13} aria-hidden="true" /> {count === 0 ? "No alarms" : count === 1 ? "1 alarm" : `${count} alarms`}
    </button>
  );
};

const Brakes = ({ panic, brakes }: { readonly panic: StatusView["panic"]; readonly brakes: StatusView["brakes"] }) => (
  <>
    {panic === null ? null : <span className="rounded bg-bad-bg px-1.5 font-semibold text-bad" data-testid="panic">Panic, by <ShownText text={panic} />: nothing is approved automatically</span>}
    {brakes.map((brake) => (
      <span key={brake.agent} className="font-semibold text-warn" data-testid="brake">{brake.agent} {brake.stopped ? "stopped" : "paused"} by <ShownText text={brake.by} /></span>
    ))}
  </>
);

const Bypasses = ({ bypasses }: { readonly bypasses: StatusView["bypasses"] }) => {
  const now = useServerNow();
  return bypasses.filter((bypass) => bypass.untilMs > now).map((bypass) => (
    <span key={bypass.agent} className="font-semibold text-warn" data-testid="bypass">Bypass: {bypass.agent}, up to {bypass.upTo}, until {formatTime(bypass.untilMs)}, by <ShownText text={bypass.by} /></span>
  ));
};

const THEME_ICON = { system: Monitor, dark: Moon, light: Sun } as const;

const ThemeButton = () => {
  const [theme, setTheme] = useSetting("theme");
  const Icon = THEME_ICON[theme];
  return (
    <button type="button" className="flex items-center gap-1.5 rounded px-1 hover:bg-raised hover:text-text" aria-label={`Theme: ${theme}`} onClick={() => { setTheme(nextChoice("theme", theme)); }}>
      <Icon size={13} aria-hidden="true" /> {theme}
    </button>
  );
};

const Connection = ({ status }: { readonly status: StatusView | null }) => {
  const lost = useLost();
  const [ok, words] = lost !== null ? [false, "The window has lost the console"]
    : status === null ? [false, "Starting"]
    : !status.bus.connected ? [false, "The bus cannot be reached; decisions wait in the outbox"]
    : [status.caughtUp, status.caughtUp ? `Connected to NATS${status.bus.serverVersion === null ? "" : ` ${status.bus.serverVersion}`}, ${status.agents} ${status.agents === 1 ? "agent" : "agents"}` : "Connected, reading what the bus holds"];
  return (
    <span className={`flex items-center ${ok ? "" : "font-semibold text-warn"}`} data-testid="connection" data-ok={ok} title={status?.bus.url}>
      <span aria-hidden="true" className={`mr-1.5 inline-block size-[7px] rounded-full ${ok ? "bg-ok" : "bg-warn"}`} />{words}
    </span>
  );
};

/** Connection, backlog, alarms, operator and audit head. */
export const StatusBar = () => {
  const status = useStatus();
  const [singleKeys] = useSetting("singleKeys");
  return (
    <footer className="flex h-7 shrink-0 items-center gap-5 overflow-hidden border-t border-line px-3.5 text-[11.5px] whitespace-nowrap text-text-3">
      <Connection status={status} />
      {status?.bus.insecure.map((word) => <Chip key={word} word={word} />)}
      {status === null ? null : (
        <>
          <span>Queue lag {status.lag}</span>
          {status.outbox > 0 ? <span className="text-warn">{status.outbox} held or on the way</span> : null}
          <Brakes panic={status.panic} brakes={status.brakes} />
          {status.bypasses.length === 0 ? null : <Bypasses bypasses={status.bypasses} />}
          <Alarms count={status.alarms.length} />
          {status.readOnly === null ? null : <span className="truncate font-semibold text-bad" data-testid="read-only">Read-only: {status.readOnly}</span>}
          {singleKeys === "off" ? <span className="text-warn">Single keys are off</span> : null}
          <span className="ml-auto" title={status.audit.hash}>
            Audit chain at #{status.audit.seq.toLocaleString("en")}{status.audit.anchoredSeq === null ? ", not anchored yet" : `, anchored to #${status.audit.anchoredSeq.toLocaleString("en")}`}
          </span>
          <span><ShownText text={status.operator} />, key {status.operatorKeyTail}</span>
          <ThemeButton />
        </>
      )}
    </footer>
  );
};
