import { AgentKey } from "../../components/AgentKey";
import { VirtualList } from "../../components/VirtualList";
import type { SetupLineView } from "../../ipc/generated";

const ROW_PX = 52;

const says = ({ keys, chosen, bound }: SetupLineView): string => {
  if (keys === null) return "its setup schema is invalid";
  if (keys === 0) return "declares no setup keys";
  const parts = [`${keys} ${keys === 1 ? "key" : "keys"}`];
  if (chosen > 0) parts.push(`${chosen} set`);
  if (bound > 0) parts.push(`${bound} bound`);
  return parts.join(", ");
};

interface SetupListProps {
  readonly lines: readonly SetupLineView[];
  readonly chosen: string | null;
  /** Agents with something typed and not saved. */
  readonly unsaved: ReadonlySet<string>;
  readonly onChoose: (key: string) => void;
}

const nameOf = (line: SetupLineView): string => line.key;
const marks = (line: SetupLineView) => ({ "data-testid": "setup-row", "data-key": line.key });

export const SetupList = ({ lines, chosen, unsaved, onChoose }: SetupListProps) => (
  <VirtualList
    label="Agents with their setup"
    rows={lines}
    nameOf={nameOf}
    rowPx={ROW_PX}
    look="grid grid-cols-[minmax(0,1fr)_auto] content-center gap-x-2 pr-3.5 pl-[11px]"
    marks={marks}
    chosen={chosen}
    onChoose={onChoose}
    renderRow={(line) => (
      <>
        <span className="min-w-0 font-mono text-[12.5px] font-semibold">
          <AgentKey of={line.key} />
        </span>
        <span className="text-[11.5px] text-accent">{unsaved.has(line.key) ? "not saved" : ""}</span>
        <span
          className={`col-span-2 truncate text-[11.5px]
            ${line.keys === null ? "text-warn" : line.keys === 0 ? "text-text-3" : "text-text-2"}`}
        >
          {says(line)}
        </span>
      </>
    )}
  />
);
