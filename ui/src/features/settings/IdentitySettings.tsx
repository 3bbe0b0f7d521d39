import { Fact } from "../../components/Fact";
import { ShownText } from "../../components/ShownText";
import type { SettingsView } from "../../ipc/generated";
import { Facts, Name, Part } from "./Part";

const ROLE: Record<string, string> = {
  human: "Signs what you decide",
  auto: "Signs what this console decides automatically",
  login: "Logs in to the bus, signs nothing else",
};

/** Who this console is. */
export const IdentitySettings = ({ settings }: { readonly settings: SettingsView }) => (
  <Part
    title="Operator and keys"
    from={
      <>
        name and workspace by <Name>operator</Name>, <Name>workspace</Name> in config.toml; new keys by{" "}
        <Name>countersign operators rotate</Name>
      </>
    }
  >
    <Facts>
      <Fact name="Operator">
        <ShownText text={settings.operator} />
      </Fact>
      <Fact name="Default workspace">{settings.workspace}</Fact>
      <Fact name="Marked as production">
        {settings.production === null ? (
          <>
            workspaces with “prod” or “production” in their names; others by <Name>production</Name>
          </>
        ) : (
          settings.production.join(", ") || "none"
        )}
      </Fact>
      {settings.keys.map((key) => (
        <Fact key={key.role} name={ROLE[key.role] ?? key.role}>
          <span className="font-mono text-xs">{key.key}</span>
        </Fact>
      ))}
      <Fact name="Keys stored in">
        {settings.keyPlace === "keychain" ? "in the system’s keychain" : "in files that only you may read"}:{" "}
        {settings.keyPlaceWhy}
      </Fact>
      <Fact name="Console">
        <span className="font-mono text-xs">{settings.console}</span>
      </Fact>
      <Fact name="Realm">
        <span className="font-mono text-xs">{settings.realm ?? "not known yet"}</span>
      </Fact>
    </Facts>
  </Part>
);
