import { useRef } from "react";
import { useCommand } from "../commands/CommandContext";
import { Kbd } from "./Kbd";

interface FilterFieldProps {
  /** For who does not see it. */
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly className: string;
}

/** What a list is narrowed by. Its key goes there, Enter leaves it, Escape clears and leaves it. */
export const FilterField = ({ label, placeholder, value, onChange, className }: FilterFieldProps) => {
  const field = useRef<HTMLInputElement>(null);
  useCommand("filter", () => {
    field.current?.focus();
  });
  return (
    <label
      className={`flex items-center rounded-[7px] border border-line bg-panel px-2.5 py-[5px]
        focus-within:border-accent ${className}`}
    >
      <span className="sr-only">{label}</span>
      <input
        ref={field}
        className="min-w-0 flex-1 bg-transparent outline-none"
        placeholder={placeholder}
        value={value}
        spellCheck={false}
        onChange={(event) => {
          onChange(event.target.value);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Escape" && event.key !== "Enter") return;
          if (event.key === "Escape") onChange("");
          event.preventDefault();
          event.currentTarget.blur();
        }}
      />
      <Kbd command="filter" />
    </label>
  );
};
