import { ShownText } from "../../components/ShownText";
import { VirtualList } from "../../components/VirtualList";
import { Day } from "../../components/Moment";
import { limitsOf, stateOf, type Operator } from "./operators";

const ROW_PX = 56;
const TONE: Record<string, string> = { waiting: "text-warn", ended: "text-text-3" };

interface OperatorListProps {
  readonly operators: readonly Operator[];
  readonly chosen: string | null;
  readonly onChoose: (key: string) => void;
}

const nameOf = (one: Operator): string => one.key;
const marks = (one: Operator) => ({
  "data-testid": "operator-row",
  "data-key": one.key,
  "data-state": one.now.state,
});
const When = ({ ms }: { readonly ms: number | null }) => (ms === null ? null : <Day ms={ms} />);
const draw = ({ now }: Operator) => (
  <>
    <span className="flex min-w-0 items-baseline gap-1.5">
      <span className={`truncate font-semibold ${now.state === "ended" ? "text-text-3" : ""}`}>
        <ShownText text={now.name} />
      </span>
      {now.mine ? (
        <span className="shrink-0 rounded border border-line px-1 text-[10.5px] text-text-3">this console</span>
      ) : null}
    </span>
    <span className={`text-right text-[11.5px] ${TONE[now.state] ?? "text-text-2"}`}>{stateOf(now)}</span>
    <span className="truncate text-[11.5px] text-text-3">
      {now.role === "human" ? "a person" : "a console"} · {now.admin ? "administrator" : limitsOf(now)}
    </span>
    <span className="text-right text-[11.5px] whitespace-nowrap text-text-3">
      <When ms={now.untilMs ?? now.fromMs} />
    </span>
  </>
);

export const OperatorList = ({ operators, chosen, onChoose }: OperatorListProps) => (
  <VirtualList
    label="Operators"
    rows={operators}
    nameOf={nameOf}
    rowPx={ROW_PX}
    look="grid grid-cols-[minmax(0,1fr)_auto] content-center gap-x-2 gap-y-0.5 pr-3.5 pl-[11px]"
    marks={marks}
    renderRow={draw}
    chosen={chosen}
    onChoose={onChoose}
  />
);
