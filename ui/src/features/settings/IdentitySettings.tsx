import { Fact } from "../../components/Fact";
import { ShownText } from "../../components/ShownText";
import { Moment } from "../../components/Moment";
import type { OperatorLine, SettingsView } from "../../ipc/generated";
import { Facts, Name, Part } from "./Part";

const ROLE: Record<string, string> = {
  human: "Signs what you decide",
  auto: "Signs what this console decides by itself",
  login: "Logs in to the bus, signs nothing else",
};
const STATE: Record<string, string> = { in_force: "in force", waiting: "waits to be accepted", retired: "retired" };

const limits = (line: OperatorLine): string => {
  const parts = [
    line.workspaces === null ? null : `in ${line.workspaces.join(", ") || "no workspace"}`,
    line.maxRisk === null ? null : `up to ${line.maxRisk}`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? "everything" : parts.join(", ");
};

const Operators = ({ lines }: { readonly lines: readonly OperatorLine[] }) => (
  <table className="selectable w-full border-collapse text-left" data-testid="operators">
    <thead className="text-[11.5px] text-text-3">
      <tr>
        {["Name", "Key", "Signs", "State", "May decide"].map((name) => (
          <th key={name} scope="col" className="py-1.5 pr-4 font-semibold">
            {name}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {lines.map((line) => (
        <tr
          key={`${line.key} ${line.fromMs}`}
          className={`border-t border-line-soft ${line.state === "retired" ? "text-text-3" : ""}`}
        >
          <td className="py-1.5 pr-4">
            <ShownText text={line.name} />
            {line.mine ? (
              <span className="ml-1.5 rounded border border-line px-1 text-[10.5px] text-text-3">this console</span>
            ) : null}
          </td>
          <td className="py-1.5 pr-4 font-mono text-xs" title={line.key}>
            {line.key.slice(0, 4)}…{line.key.slice(-4)}
          </td>
          <td className="py-1.5 pr-4">{line.role === "human" ? "a person" : "the console"}</td>
          <td className={`py-1.5 pr-4 ${line.state === "waiting" ? "text-warn" : ""}`}>
            {STATE[line.state] ?? line.state}{" "}
            <span className="text-text-3">
              since <Moment ms={line.untilMs ?? line.fromMs} />
            </span>
          </td>
          <td className="py-1.5">{limits(line)}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

/** Who this console is, and whom its realm trusts. */
export const IdentitySettings = ({ settings }: { readonly settings: SettingsView }) => (
  <>
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
        <Fact name="Workspace of commands">{settings.workspace}</Fact>
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
        <Fact name="Their seeds are">
          {settings.keyPlace === "keychain" ? "in the system’s keychain" : "in files that only you may read"}:{" "}
          {settings.keyPlaceWhy}
        </Fact>
        <Fact name="Console">
          <span className="font-mono text-xs">{settings.console}</span>
        </Fact>
        <Fact name="Realm">
          <span className="font-mono text-xs">{settings.realm ?? "not met yet"}</span>
        </Fact>
      </Facts>
    </Part>
    <Part
      title="Operators of the realm"
      from={
        <>
          changed by <Name>countersign operators add</Name>, <Name>retire</Name>
        </>
      }
    >
      {settings.operators.length === 0 ? (
        <p className="m-0 text-text-3">The list has not been read from the bus yet.</p>
      ) : (
        <Operators lines={settings.operators} />
      )}
      <p className="mt-2.5 mb-0 text-[11.5px] text-text-3">
        {settings.operatorApproval
          ? "A new key counts only after an operator has accepted it."
          : "A new console’s keys count as soon as it joins."}
      </p>
    </Part>
  </>
);
