import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Monitor, Moon, Sun, type LucideIcon } from "lucide-react";
import { useId } from "react";
import { useSetting, type SettingName, type SettingValue } from "../../commands/settings";
import { Failed } from "../../components/Failed";
import { useDesk } from "../../desk/DeskContext";
import { Part } from "./Part";

interface Choice<V extends string> {
  readonly value: V;
  readonly label: string;
  readonly icon?: LucideIcon;
}

interface RadiosProps<V extends string> {
  readonly name: string;
  readonly title: string;
  readonly means: string;
  readonly choices: readonly Choice<V>[];
  readonly value: V | null;
  readonly onChoose: (value: V) => void;
}

const Radios = <V extends string>({ name, title, means, choices, value, onChoose }: RadiosProps<V>) => {
  const id = useId();
  return (
    <div
      className="row-line grid grid-cols-[220px_minmax(0,1fr)] narrow:grid-cols-1 gap-x-5 py-3 last:border-0"
      role="radiogroup"
      aria-labelledby={id}
      data-testid={`setting-${name}`}
    >
      <div id={id} className="font-semibold">
        {title}
      </div>
      <div>
        <div className="flex flex-wrap gap-5">
          {choices.map((choice) => (
            <label key={choice.value} className="flex items-center gap-2">
              <input
                type="radio"
                name={id}
                value={choice.value}
                checked={value === choice.value}
                onChange={() => {
                  onChoose(choice.value);
                }}
              />
              {choice.icon === undefined ? null : <choice.icon size={14} aria-hidden="true" className="text-text-3" />}
              {choice.label}
            </label>
          ))}
        </div>
        <p className="mt-1.5 mb-0 text-[11.5px] text-text-3">{means}</p>
      </div>
    </div>
  );
};

type ChoicesProps<N extends SettingName> = Omit<RadiosProps<SettingValue<N>>, "value" | "onChoose"> & {
  readonly name: N;
};

const Choices = <N extends SettingName>(props: ChoicesProps<N>) => {
  const [value, write] = useSetting(props.name);
  return <Radios {...props} value={value} onChoose={write} />;
};

/** Of the console, not of the window: the audit log says who changed it. */
const HasteLimit = () => {
  const desk = useDesk();
  const queries = useQueryClient();
  const { data } = useQuery({ queryKey: ["haste_brake"], queryFn: () => desk.call("haste_brake", { on: null }) });
  const choose = useMutation({
    mutationFn: (word: "on" | "off") => desk.call("haste_brake", { on: word === "on" }),
    onSuccess: (now) => {
      queries.setQueryData(["haste_brake"], now);
    },
  });
  return (
    <>
      <Radios
        name="haste"
        title="Slow down hasty decisions"
        means="After 5 hasty cards in a row, the next can be approved only after its reading time. The audit log records who turns this off."
        choices={[
          { value: "on", label: "On" },
          { value: "off", label: "Off" },
        ]}
        value={data === undefined ? null : data.on ? "on" : "off"}
        onChoose={(word) => {
          choose.mutate(word);
        }}
      />
      <Failed error={choose.error} />
    </>
  );
};

/** What is changed right here, and kept by this window. */
export const WindowSettings = () => (
  <Part title="This window" from="takes effect at once">
    <Choices
      name="theme"
      title="Theme"
      means="System follows the desktop, also while the window is open."
      choices={[
        { value: "system", label: "System", icon: Monitor },
        { value: "dark", label: "Dark", icon: Moon },
        { value: "light", label: "Light", icon: Sun },
      ]}
    />
    <Choices
      name="screenNames"
      title="Names of the screens"
      means="Below the icons on the left. Wide is 1,200 px or more."
      choices={[
        { value: "wide", label: "In a wide window" },
        { value: "always", label: "Always" },
      ]}
    />
    <Choices
      name="singleKeys"
      title="Single keys"
      means="When off, only Ctrl shortcuts and Esc work."
      choices={[
        { value: "on", label: "On" },
        { value: "off", label: "Off" },
      ]}
    />
    <Choices
      name="notifications"
      title="Desktop notifications"
      means="Shown while the window is not in front, alarms too. They never show arguments and never decide."
      choices={[
        { value: "all", label: "Every request" },
        { value: "urgent", label: "High and critical" },
        { value: "off", label: "Off" },
      ]}
    />
    <HasteLimit />
  </Part>
);
