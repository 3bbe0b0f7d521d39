import { Fact } from "../../components/Fact";
import { useStatus } from "../../desk/DeskContext";
import type { SettingsView } from "../../ipc/generated";
import { Facts, Name, Part } from "./Part";

const LOGIN: Record<SettingsView["login"], string> = {
  own_server: "with its own login key",
  nkey: "with the nkey of a file",
  creds: "with a .creds file",
  url: "with the credentials in its address",
  none: "without credentials: the server asks for none",
};

const INSECURE: Record<string, string> = {
  single_account: "agents and consoles share one account: an agent could interfere with decisions for others",
  no_tls: "the connection is not encrypted",
  open_permissions: "the bus does not keep agents apart",
};

/** Which bus, how safe it is, and what else is received and sent. */
export const BusSettings = ({ settings }: { readonly settings: SettingsView }) => {
  const status = useStatus();
  const { otlp } = settings;
  return (
    <>
      <Part
        title="Bus"
        from={
          <>
            changed by <Name>nats_url</Name>, <Name>nats_creds</Name>, <Name>nats_nkey</Name>, <Name>tls_ca</Name>,{" "}
            <Name>tls_cert</Name> in config.toml, read at start
          </>
        }
      >
        <Facts>
          <Fact name="Server">{settings.ownServer ? "The console’s own, on this machine" : "An outside server"}</Fact>
          <Fact name="Address">
            <span className="font-mono text-xs">{status?.bus.url ?? "…"}</span>
            {status === null ? null : status.bus.connected ? (
              `, connected${status.bus.serverVersion === null ? "" : `, NATS ${status.bus.serverVersion}`}`
            ) : (
              <span className="text-warn">, cannot be reached now</span>
            )}
          </Fact>
          <Fact name="Logs in">{LOGIN[settings.login]}</Fact>
          {settings.ownServer ? null : (
            <Fact name="Trusts over TLS">
              {settings.tlsCa === null ? (
                "the system’s authorities"
              ) : (
                <span className="font-mono text-xs">{settings.tlsCa}</span>
              )}
              {settings.tlsCert === null ? (
                ""
              ) : (
                <>
                  , own certificate <span className="font-mono text-xs">{settings.tlsCert}</span>
                </>
              )}
            </Fact>
          )}
          <Fact name="Safety">
            {status === null ? (
              "…"
            ) : status.bus.insecure.length === 0 ? (
              "Nothing insecure was found"
            ) : (
              <ul className="m-0 list-none p-0 text-bad" data-testid="settings-insecure">
                {status.bus.insecure.map((word) => (
                  <li key={word}>
                    <b className="font-semibold">{word.replaceAll("_", " ")}</b>: {INSECURE[word] ?? "insecure"}
                  </li>
                ))}
              </ul>
            )}
            {settings.allowSingleAccount ? (
              <div className="text-warn">
                One account for consoles and agents is accepted (<Name>allow_single_account</Name>).
              </div>
            ) : null}
          </Fact>
        </Facts>
      </Part>
      <Part
        title="OpenTelemetry"
        from={
          <>
            changed under <Name>[otlp]</Name> in config.toml, read at start
          </>
        }
      >
        <Facts>
          <Fact name="Receives">
            {otlp.http === null && otlp.grpc === null
              ? "Nothing: the receiver is off"
              : [otlp.http === null ? null : `HTTP at ${otlp.http}`, otlp.grpc === null ? null : `gRPC at ${otlp.grpc}`]
                  .filter((part) => part !== null)
                  .join(", ")}
            {otlp.requireToken ? ", with a token only" : ""}
            {otlp.allowRemote ? ", also from other machines" : ""}
          </Fact>
          <Fact name="Sends decisions to">{otlp.export ?? "Nobody"}</Fact>
        </Facts>
      </Part>
      <Part
        title="Metrics"
        from={
          <>
            changed under <Name>[metrics]</Name> in config.toml, read at start
          </>
        }
      >
        <Facts>
          <Fact name="Prometheus reads">{settings.metrics ?? "Nothing: metrics are off"}</Fact>
        </Facts>
      </Part>
    </>
  );
};
