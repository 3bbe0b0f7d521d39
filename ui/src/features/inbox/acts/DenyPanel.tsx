import { useRef } from "react";
import { Button } from "../../../components/Button";

const PRESETS = [
  "Not now. Ask again later.",
  "Wrong target. Check it and ask again.",
  "Too broad. Ask again for less.",
  "Do not do this. Go on without it.",
];

/** The reason that a digit chooses: only while no other one is written. It never sends. */
const presetOf = (
  { key, ctrlKey, altKey, metaKey }: Pick<KeyboardEvent, "key" | "ctrlKey" | "altKey" | "metaKey">,
  reason: string,
): string | undefined =>
  ctrlKey || altKey || metaKey || (reason !== "" && !PRESETS.includes(reason)) || !/^[1-9]$/.test(key)
    ? undefined
    : PRESETS[Number(key) - 1];

interface DenyPanelProps {
  /** Deny and end the run. */
  readonly stops: boolean;
  /** The agent can honour a stop. */
  readonly canStop: boolean;
  readonly busy: boolean;
  /** What is typed; it outlives the panel. */
  readonly reason: string;
  readonly onReason: (reason: string) => void;
  readonly onDeny: (reason: string | null) => void;
  readonly onClose: () => void;
}

/** The reason of a denial. Enter sends it: denying is never delayed. */
export const DenyPanel = ({ stops, canStop, busy, reason, onReason, onDeny, onClose }: DenyPanelProps) => {
  const field = useRef<HTMLInputElement>(null);
  const send = (text: string): void => {
    onDeny(text.trim() === "" ? null : text.trim());
  };
  return (
    <form
      className="border-t border-line bg-panel px-7 py-[13px]"
      aria-label={stops ? "Deny and stop the agent" : "Deny"}
      onSubmit={(event) => {
        event.preventDefault();
        send(reason);
      }}
    >
      <div className="mb-2 flex flex-wrap gap-1.5">
        {PRESETS.map((preset, place) => (
          <button
            key={preset}
            type="button"
            disabled={busy}
            aria-keyshortcuts={String(place + 1)}
            className="rounded-md border border-line px-2 py-1 text-xs text-text-2 hover:bg-raised hover:text-text"
            onClick={() => {
              onReason(preset);
              // From there Enter sends it.
              field.current?.focus();
            }}
          >
            {preset}{" "}
            <kbd className="kbd" aria-hidden="true">
              {place + 1}
            </kbd>
          </button>
        ))}
      </div>
      <div className="flex flex-wrap items-center gap-2.5">
        <input
          ref={field}
          // The key D asks for exactly this field.
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus
          className="min-w-0 flex-1 rounded-md border border-line bg-bg px-2.5 py-2 text-text max-lg:basis-full"
          aria-label="Reason for the agent"
          placeholder="Why, or what to do instead (the agent reads this)"
          value={reason}
          onChange={(event) => {
            onReason(event.target.value);
          }}
          onKeyDown={(event) => {
            const preset = presetOf(event, reason);
            if (preset === undefined) return;
            event.preventDefault();
            onReason(preset);
          }}
          maxLength={4_000}
        />
        <Button tone="deny" type="submit" disabled={busy} data-testid="send-denial">
          {stops ? "Deny and stop" : "Deny"}{" "}
          <kbd className="kbd !border-current !bg-transparent !text-inherit">Enter</kbd>
        </Button>
        <Button tone="quiet" onClick={onClose}>
          Back <kbd className="kbd">Esc</kbd>
        </Button>
      </div>
      {stops && !canStop ? (
        <p className="mt-2 mb-0 text-xs text-warn">This agent cannot be stopped from here; only the denial is sent.</p>
      ) : null}
    </form>
  );
};
