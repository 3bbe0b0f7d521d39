import { plainText } from "../../../components/shown";
import { Select } from "../../../components/Select";
import { ShownText } from "../../../components/ShownText";
import type { Shown } from "../../../ipc/generated";
import type { ControlProps } from "./TextControl";

export interface Option {
  readonly label: Shown;
  /** What is sent, where the label says something else. */
  readonly sends: Shown | null;
  readonly value: unknown;
}

interface ChoiceControlProps extends ControlProps {
  readonly options: readonly Option[];
  /** Any number of them. */
  readonly several: boolean;
}

/** More of them are a list that opens. */
const FEW = 6;

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** A choice among values. Nothing is chosen at first, not even where one choice is all there is. */
export const ChoiceControl = (props: ChoiceControlProps) => {
  const { id, value, required, invalid, describedBy, onChange, options, several } = props;
  const list: readonly unknown[] = several && Array.isArray(value) ? value : [];
  const isChosen = (option: Option): boolean =>
    several ? list.some((one) => isSame(one, option.value)) : isSame(value, option.value);
  const said = { "aria-labelledby": `${id}-label`, "aria-describedby": describedBy };
  if (!several && options.length > FEW)
    return (
      <div className="flex">
        <Select
          id={id}
          {...said}
          aria-required={required}
          aria-invalid={invalid}
          className={`max-w-2xl py-1.5 ${invalid ? "!border-bad" : "border-line"}`}
          value={options.findIndex(isChosen)}
          onChange={({ target }) => {
            onChange(options[Number(target.value)]?.value);
          }}
        >
          <option value={-1}>{required ? "Choose…" : "No answer"}</option>
          {options.map(({ label, sends }, index) => (
            // Choices keep their order.
            // oxlint-disable-next-line react/no-array-index-key
            <option key={index} value={index}>
              {plainText(label)}
              {sends === null ? "" : ` (${plainText(sends)})`}
            </option>
          ))}
        </Select>
      </div>
    );
  const pick = (option: Option): void => {
    if (!several) {
      onChange(option.value);
      return;
    }
    const others = list.filter((one) => !isSame(one, option.value));
    const next = isChosen(option) ? others : [...others, option.value];
    onChange(next.length === 0 ? undefined : next);
  };
  const box = (chosen: boolean): string =>
    `flex items-center gap-2 rounded-md border px-2.5 py-1.5 ` +
    (chosen ? "border-accent bg-raised" : invalid ? "border-bad" : "border-line");
  const input = {
    type: several ? "checkbox" : "radio",
    name: id,
    "aria-invalid": invalid,
  };
  return (
    <div
      role={several ? "group" : "radiogroup"}
      {...said}
      {...(several ? {} : { "aria-required": required })}
      className="flex max-h-60 flex-wrap gap-1.5 overflow-auto"
    >
      {options.map((option, index) => (
        // Choices keep their order.
        // oxlint-disable-next-line react/no-array-index-key
        <label key={index} className={box(isChosen(option))}>
          <input
            {...input}
            checked={isChosen(option)}
            onChange={() => {
              pick(option);
            }}
          />
          <ShownText text={option.label} />
          {option.sends === null ? null : (
            <code className="font-mono text-[11.5px] text-text-3">
              <ShownText text={option.sends} />
            </code>
          )}
        </label>
      ))}
      {several || required ? null : (
        <label className={box(value === undefined)}>
          <input
            {...input}
            checked={value === undefined}
            onChange={() => {
              onChange(undefined);
            }}
          />
          <span className="text-text-2">No answer</span>
        </label>
      )}
    </div>
  );
};
