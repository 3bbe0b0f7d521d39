import { ShownText } from "../../components/ShownText";
import { VirtualList } from "../../components/VirtualList";
import { formatDay } from "../../desk/clock";
import { useStore } from "../../desk/store";
import type { RuleEffect, RuleRow } from "../../ipc/generated";
import { changedRules } from "../../components/rules/unsaved";

const ROW_PX = 58;
const LOOKS: Record<RuleEffect, string> = {
  approve: "bg-ok-bg text-ok",
  ask: "bg-warn-bg text-warn",
  deny: "bg-bad-bg text-bad",
};

/** A rule that decides nothing now looks so, whatever it would do. */
const STATE_LOOKS: Record<Exclude<RuleRow["state"], "on">, string> = {
  off: "border border-line text-text-3",
  shadow: "border border-dashed border-warn-line text-warn",
};

const EffectBadge = ({
  effect,
  approvals = null,
  state = "on",
}: {
  readonly effect: RuleEffect;
  readonly approvals?: number | null;
  readonly state?: RuleRow["state"];
}) => (
  <span
    className={`rounded px-2 py-0.5 text-center text-[11px] font-semibold whitespace-nowrap
      ${state === "on" ? LOOKS[effect] : STATE_LOOKS[state]}`}
    data-effect={effect}
  >
    {effect}
    {effect === "ask" && approvals !== null && approvals > 1 ? ` ×${approvals}` : ""}
  </span>
);

const usesOf = ({ state, effect, uses, today, shadows }: RuleRow): string => {
  if (state === "shadow") return `in shadow: ${shadows.toLocaleString("en")}`;
  if (effect === "ask") return "";
  if (uses === 0) return "never used";
  return effect === "approve"
    ? `${today.toLocaleString("en")} today, ${uses.toLocaleString("en")} in total`
    : `${uses.toLocaleString("en")} in total`;
};

const endOf = (row: RuleRow, nowMs: number): { readonly text: string; readonly over: boolean } => {
  if (row.expiresMs !== null && row.expiresMs <= nowMs)
    return { text: `ended ${formatDay(row.expiresMs, nowMs)}`, over: true };
  const parts = [
    row.expiresMs === null ? (row.thread ? "ends with the thread" : "") : `until ${formatDay(row.expiresMs, nowMs)}`,
    row.limit ?? "",
  ];
  return { text: parts.filter((part) => part !== "").join(", "), over: false };
};

const Row = ({ row, changed, nowMs }: { readonly row: RuleRow; readonly changed: boolean; readonly nowMs: number }) => {
  const end = endOf(row, nowMs);
  return (
    <>
      <EffectBadge effect={row.effect} approvals={row.approvals} state={row.state} />
      <span className="min-w-0">
        <b className="block truncate font-semibold">
          <ShownText text={row.name} />
          {!changed ? null : <span className="ml-2 font-normal text-warn">changed, not saved</span>}
        </b>
        <small className="block truncate text-xs text-text-3">
          {row.state === "on" ? "" : `${row.state === "off" ? "off" : "shadow"}; `}
          <ShownText text={row.about} />
          {row.regrets === 0 ? null : (
            <span className="text-bad">
              {" "}
              · {row.regrets} {row.regrets === 1 ? "regret" : "regrets"}
            </span>
          )}
          {row.lastError === null ? null : (
            <span className="text-warn">
              {" "}
              · last error: <ShownText text={row.lastError} />
            </span>
          )}
        </small>
      </span>
      <span className="flex min-w-0 flex-col max-[900px]:hidden xl:contents">
        <span className="truncate text-text-3">{usesOf(row)}</span>
        <span className={`max-xl:truncate xl:line-clamp-2 ${end.over ? "text-warn" : "text-text-3"}`} title={end.text}>
          {end.text}
        </span>
      </span>
    </>
  );
};

interface RuleListProps {
  readonly rows: readonly RuleRow[];
  readonly workspace: string;
  readonly chosen: string | null;
  readonly nowMs: number;
  readonly onChoose: (id: string) => void;
}

const nameOf = (row: RuleRow): string => row.id;
const marks = (row: RuleRow) => ({ "data-testid": "rule-row", "data-id": row.id, "data-state": row.state });

export const RuleList = ({ rows, workspace, chosen, nowMs, onChoose }: RuleListProps) => {
  const changed = useStore(changedRules.all);
  return (
    <VirtualList
      label="Rules"
      rows={rows}
      nameOf={nameOf}
      rowPx={ROW_PX}
      marks={marks}
      chosen={chosen}
      onChoose={onChoose}
      look={`grid grid-cols-[78px_minmax(0,1fr)_150px_120px] max-xl:grid-cols-[70px_minmax(0,1fr)_132px]
        max-[900px]:grid-cols-[70px_minmax(0,1fr)] items-center gap-3 pr-5 pl-[17px]`}
      renderRow={(row) => <Row row={row} changed={changed[`${workspace}/${row.id}`] !== undefined} nowMs={nowMs} />}
    />
  );
};
