import { AgentKey } from "../../components/AgentKey";
import { useVirtualRows } from "../../components/virtualRows";
import type { SetupLineView } from "../../ipc/generated";

const ROW_PX = 52;

const says = ({ keys, chosen, bound }: SetupLineView): string => {
  if (keys === null) return "its declaration cannot be used";
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

const optionId = (key: string): string => `setup-of-${key}`;

export const SetupList = ({ lines, chosen, unsaved, onChoose }: SetupListProps) => {
  const { scroller, height, rows: drawn } = useVirtualRows({ keys: lines.map((line) => line.key), rowPx: ROW_PX, overscan: 8, cursor: chosen });
  return (
    <div
      ref={scroller} className="min-h-0 flex-1 overflow-auto" role="listbox" tabIndex={0} aria-label="Agents with their setup"
      {...(chosen === null ? {} : { "aria-activedescendant": optionId(chosen) })}
    >
      <div className="relative" role="presentation" style={{ height }}>
        {drawn.map(({ index, start }) => {
          const line = lines[index];
          if (line === undefined) return null;
          const selected = line.key === chosen;
          return (
            // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the list has the keys
            <div
              key={line.key} id={optionId(line.key)} role="option" aria-selected={selected} aria-posinset={index + 1} aria-setsize={lines.length}
              data-testid="setup-row" data-key={line.key}
              className={`row-line absolute top-0 left-0 grid h-[52px] w-full grid-cols-[minmax(0,1fr)_auto] content-center gap-x-2 border-l-[3px] pr-3.5 pl-[11px] ${selected ? "border-l-accent bg-raised" : "border-l-transparent hover:bg-panel"}`}
              style={{ transform: `translateY(${start}px)` }} onClick={() => { onChoose(line.key); }}
            >
              <span className="min-w-0 font-mono text-[12.5px] font-semibold"><AgentKey of={line.key} /></span>
              <span className="text-[11.5px] text-accent">{unsaved.has(line.key) ? "not saved" : ""}</span>
              <span className={`col-span-2 truncate text-[11.5px] ${line.keys === null ? "text-warn" : line.keys === 0 ? "text-text-3" : "text-text-2"}`}>{says(line)}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
};
