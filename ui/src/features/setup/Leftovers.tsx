import { Button } from "../../components/Button";
import { Section } from "../../components/Section";
import { ShownText } from "../../components/ShownText";
import { useState } from "react";
import type { SetupEdit, SetupForm } from "../../ipc/generated";
import { toCallError } from "../../ipc/transport";

interface LeftoversProps {
  readonly form: SetupForm;
  readonly disabled: boolean;
  readonly onEdit: (edit: SetupEdit) => Promise<void>;
}

/** What was set for keys that the agent does not declare: it counts for nothing, and comes back with the key. */
export const Leftovers = ({ form, disabled, onEdit }: LeftoversProps) => {
  const [trouble, setTrouble] = useState<string | null>(null);
  const edit = (wanted: SetupEdit): void => {
    setTrouble(null);
    onEdit(wanted).catch((thrown: unknown) => {
      setTrouble(toCallError(thrown).message);
    });
  };
  return (
    <Section title="Set for keys that the agent does not declare (ignored)">
      <ul className="selectable m-0 list-none p-0" data-testid="setup-leftovers">
        {form.leftovers.map((left) => (
          <li key={left.key} className="row-line flex flex-wrap items-center gap-x-3 gap-y-1 py-2 last:border-0">
            <span className="font-mono text-xs font-semibold">
              <ShownText text={left.name} />
            </span>
            {left.value === null ? null : (
              <span className="text-text-2">
                value{" "}
                <code className="font-mono text-xs">
                  <ShownText text={left.value} />
                </code>
              </span>
            )}
            {left.bound === null ? null : (
              <span className="text-text-2">
                bound to{" "}
                <code className="font-mono text-xs">
                  <ShownText text={left.bound.skipsWhen} />
                </code>
              </span>
            )}
            <span className="ml-auto flex gap-2">
              {left.value === null ? null : (
                <Button
                  tone="quiet"
                  className="!px-2 !py-1 !text-xs"
                  disabled={disabled}
                  onClick={() => {
                    edit({ type: "set", key: left.key, json: null });
                  }}
                >
                  Remove the value
                </Button>
              )}
              {left.bound === null ? null : (
                <Button
                  tone="quiet"
                  className="!px-2 !py-1 !text-xs"
                  disabled={disabled}
                  onClick={() => {
                    edit({ type: "unbind", key: left.key });
                  }}
                >
                  Unbind
                </Button>
              )}
            </span>
          </li>
        ))}
      </ul>
      {trouble === null ? null : (
        <p role="alert" className="text-bad">
          {trouble}
        </p>
      )}
    </Section>
  );
};
