import { useStatus } from "../../desk/DeskContext";
import { Fact } from "../../components/Fact";
import type { SettingsView } from "../../ipc/generated";
import { Facts, Name, Part } from "./Part";

const KIND: Record<string, string> = {
  requests: "Payloads of ended requests",
  receipts: "What agents reported",
  quarantine: "Rejected messages",
};
const FOLDER: Record<string, string> = { data: "Data folder", database: "Store", keys: "Keys", config: "config.toml" };

const kept = (days: number | null, mib: number | null): string => {
  const parts = [days === null ? null : `${days} days`, mib === null ? null : `at most ${mib} MiB`].filter(
    (part) => part !== null,
  );
  return parts.length === 0 ? "for ever" : parts.join(", ");
};

const row = (seq: number): string => `#${seq.toLocaleString("en")}`;

/** What is kept for how long and where, and when a person is alarmed. */
export const StoreSettings = ({ settings }: { readonly settings: SettingsView }) => {
  const audit = useStatus()?.audit;
  return (
    <>
      <Part
        title="Retention"
        from={
          <>
            changed under <Name>[retention]</Name> in config.toml, read at start
          </>
        }
      >
        <Facts>
          {settings.retention.map((limit) => (
            <Fact key={limit.kind} name={KIND[limit.kind] ?? limit.kind}>
              {kept(limit.days, limit.mib)}
            </Fact>
          ))}
          <Fact name="Decisions, digests, audit rows">for ever</Fact>
          {audit === undefined ? null : (
            <Fact name="Audit chain" title={`Its last hash is ${audit.hash}`}>
              {row(audit.seq)},{" "}
              {audit.anchoredSeq === null ? "not anchored yet" : `anchored to ${row(audit.anchoredSeq)}`}
            </Fact>
          )}
        </Facts>
      </Part>
      <Part
        title="Alarms and limits"
        from={
          <>
            changed by <Name>alarm_not_…_after_s</Name>, <Name>waiting_limit</Name> in config.toml, read at start
          </>
        }
      >
        <Facts>
          <Fact name="A decision not on the bus">after {settings.stalls.onBusS} s</Fact>
          <Fact name="Not received by its agent">
            after {settings.stalls.receivedS} s, while the agent sends heartbeats
          </Fact>
          <Fact name="Received and not executed">after {settings.stalls.executedS} s</Fact>
          <Fact name="Waiting requests of one agent">
            at most {settings.waitingLimit.toLocaleString("en")}, more are rejected
          </Fact>
        </Facts>
      </Part>
      <Part
        title="Folders"
        from={
          <>
            changed by <Name>--data-dir</Name> or <Name>COUNTERSIGN_DATA_DIR</Name>
          </>
        }
      >
        <Facts>
          {settings.folders.map((folder) => (
            <Fact key={folder.what} name={FOLDER[folder.what] ?? folder.what}>
              <span className="font-mono text-xs">{folder.path}</span>
              {folder.exists ? "" : <span className="text-text-3"> (not there: defaults apply)</span>}
            </Fact>
          ))}
        </Facts>
        <p className="mt-2.5 mb-0 text-[11.5px] text-text-3">
          Flags override the environment; the environment overrides config.toml. All are read at start.
        </p>
      </Part>
    </>
  );
};
