import { plainText } from "../../components/shown";
import type { SetupKeyView } from "../../ipc/generated";

const FIELD = "w-full rounded-[7px] border bg-panel px-2.5 py-1.5 outline-none focus:border-accent";

interface ValueFieldProps {
  readonly field: SetupKeyView;
  readonly id: string;
  /** Null where nothing is typed and the default counts. */
  readonly text: string | null;
  readonly wrong: boolean;
  /** Element that names the field. */
  readonly labelledBy: string;
  readonly describedBy?: string;
  readonly onText: (text: string) => void;
}

/** A value of any of the seven types, as a person types it. */
export const ValueField = ({ field, id, text, wrong, labelledBy, describedBy, onText }: ValueFieldProps) => {
  const border = wrong ? "border-bad-line" : "border-line";
  const shared = { id, "aria-describedby": describedBy, "aria-invalid": wrong, spellCheck: false, autoComplete: "off" };
  const placeholder = field.placeholder === null ? "" : plainText(field.placeholder);
  if (field.kind === "bool") {
    return (
      <div
        className="flex gap-4"
        role="radiogroup"
        id={id}
        aria-labelledby={labelledBy}
        aria-describedby={describedBy}
        aria-invalid={wrong}
      >
        {["true", "false"].map((choice) => (
          <label key={choice} className="flex items-center gap-1.5 font-mono text-xs">
            <input
              type="radio"
              name={id}
              value={choice}
              checked={text === choice}
              onChange={() => {
                onText(choice);
              }}
            />{" "}
            {choice}
          </label>
        ))}
      </div>
    );
  }
  if (field.kind === "list_dict" || field.kind === "string_multiline") {
    const mono = field.kind === "list_dict" ? "font-mono text-xs/[1.55]" : "";
    return (
      <textarea
        {...shared}
        className={`${FIELD} ${border} ${mono} resize-y`}
        rows={field.kind === "list_dict" ? 7 : 4}
        value={text ?? ""}
        placeholder={placeholder === "" && field.kind === "list_dict" ? "[]" : placeholder}
        onChange={(event) => {
          onText(event.target.value);
        }}
      />
    );
  }
  const number = field.kind === "int" || field.kind === "float";
  return (
    <input
      {...shared}
      type={field.secret ? "password" : "text"}
      inputMode={field.kind === "int" ? "numeric" : field.kind === "float" ? "decimal" : "text"}
      className={`${FIELD} ${border}
        ${number ? "max-w-40 font-mono text-xs" : field.kind === "string_short" ? "max-w-[420px]" : ""}`}
      value={text ?? ""}
      placeholder={placeholder}
      onChange={(event) => {
        onText(event.target.value);
      }}
    />
  );
};
