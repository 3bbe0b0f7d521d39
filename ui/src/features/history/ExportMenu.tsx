import { Download } from "lucide-react";
import { useState } from "react";
import { Button } from "../../components/Button";
import { Popover } from "../../components/over";
import { ShownText } from "../../components/ShownText";
import type { ExportFormat, HistoryFilterView } from "../../ipc/generated";
import type { Export } from "./useExport";

const FORMATS: readonly { readonly format: ExportFormat; readonly label: string }[] = [
  { format: "csv", label: "CSV, for a spreadsheet…" },
  { format: "jsonl", label: "JSON lines, for programs…" },
];

interface ExportMenuProps {
  readonly of: Export;
  readonly filter: HistoryFilterView;
  /** How many requests pass the filter, in words; null while that is not known. */
  readonly count: string | null;
}

/** The question how to write what is filtered; where to is asked by the system. */
export const ExportMenu = ({ of, filter, count }: ExportMenuProps) => {
  const [open, setOpen] = useState(false);
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger
        disabled={of.busy}
        className={`flex items-center gap-1.5 rounded-md border border-line bg-panel px-2 py-1 text-xs text-text-2
          hover:bg-raised disabled:opacity-45`}
      >
        <Download size={13} aria-hidden="true" /> Export
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          sideOffset={6}
          align="end"
          className="z-20 w-[300px] rounded-lg border border-line bg-panel p-3 shadow-lg"
          aria-label="Export"
          data-testid="export-menu"
        >
          <p className="mt-0 mb-2 text-text-2">
            {count === null ? "Every request" : count} that this filter shows. Secrets stay hidden.
          </p>
          {FORMATS.map(({ format, label }) => (
            <button
              key={format}
              type="button"
              className="block w-full rounded px-1.5 py-1.5 text-left hover:bg-raised"
              onClick={() => {
                setOpen(false);
                of.start(format, filter);
              }}
            >
              {label}
            </button>
          ))}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
};

/** How far an export is, until the person has seen its end. */
export const ExportBar = ({ of }: { readonly of: Export }) => {
  const { view, error } = of;
  const trouble = error?.message ?? view?.trouble ?? null;
  if (view === null && trouble === null) return null;
  const count = `${(view?.done ?? 0).toLocaleString("en")} ${view?.done === 1 ? "request" : "requests"}`;
  return (
    <div
      role="status"
      className="flex items-center gap-3 border-b border-line bg-panel px-5 py-1.5"
      data-testid="export"
      data-ended={of.busy ? "false" : "true"}
    >
      <span className={`selectable min-w-0 flex-1 truncate ${trouble === null ? "text-text-2" : "text-bad"}`}>
        {trouble !== null || view === null ? (
          trouble
        ) : (
          <>
            {of.busy ? "Writing" : "Exported"} <ShownText text={view.file} />: {count}
          </>
        )}
      </span>
      <Button className="-my-0.5 !px-2.5 !py-0.5 !text-xs" onClick={of.busy ? of.cancel : of.dismiss}>
        {of.busy ? "Cancel" : "Close"}
      </Button>
    </div>
  );
};
