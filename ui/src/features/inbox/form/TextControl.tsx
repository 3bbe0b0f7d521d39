import { useState } from "react";
import { readNumber } from "./structure";

export interface ControlProps {
  readonly id: string;
  readonly value: unknown;
  readonly required: boolean;
  readonly invalid: boolean;
  readonly describedBy: string;
  readonly onChange: (value: unknown) => void;
}

interface TextControlProps extends ControlProps {
  readonly isNumber: boolean;
  readonly long: boolean;
}

const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
};

/** A text or a number. A number is kept as it is typed: `1.50` would be no step on the way to `1.505`. */
export const TextControl = ({
  id,
  value,
  required,
  invalid,
  describedBy,
  onChange,
  isNumber,
  long,
}: TextControlProps) => {
  const [typed, setTyped] = useState("");
  const shown = isNumber && readNumber(typed) === value ? typed : textOf(value);
  const shared = {
    id,
    value: shown,
    "aria-required": required,
    "aria-invalid": invalid,
    "aria-describedby": describedBy,
    autoComplete: "off",
    spellCheck: false,
    className:
      `w-full rounded-md border bg-bg px-2.5 py-1.5 text-text ` +
      `${isNumber ? "max-w-60 font-mono" : "max-w-2xl"} ${invalid ? "border-bad" : "border-line"}`,
    onChange: ({ target }: { readonly target: { readonly value: string } }) => {
      setTyped(target.value);
      if (target.value === "") onChange(undefined);
      else onChange(isNumber ? readNumber(target.value) : target.value);
    },
  };
  return long ? <textarea rows={4} {...shared} /> : <input inputMode={isNumber ? "decimal" : "text"} {...shared} />;
};
