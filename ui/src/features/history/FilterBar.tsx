import { useQuery } from "@tanstack/react-query";
import { Select } from "../../components/Select";
import { plainText } from "../../components/shown";
import { useDesk } from "../../desk/DeskContext";
import type { FilterValue, HistoryFilterView } from "../../ipc/generated";
import { EVERYTHING, isNarrow, ORIGINS, PERIODS, RISKS, sinceOf, STATES, timeOf, VERDICTS } from "./filter";

interface ChoiceProps {
  readonly label: string;
  readonly value: string | null;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly onChange: (value: string | null) => void;
  /** Its words are the console's own and are never cut. */
  readonly whole?: boolean;
}

const Choice = ({ label, value, options, onChange, whole = false }: ChoiceProps) => (
  <label className="flex items-center">
    <span className="sr-only">{label}</span>
    <Select
      className={`${whole ? "" : "max-w-[170px]"} py-1 text-xs
        ${value === null ? "border-line text-text-3" : "border-accent text-text"}`}
      value={value ?? ""}
      onChange={(event) => {
        onChange(event.target.value === "" ? null : event.target.value);
      }}
    >
      <option value="">{label}</option>
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
      {/* A value may be an agent's own text: only its label is safe to show. */}
      {value === null || options.some((option) => option.value === value) ? null : (
        <option value={value}>{label}: selected value</option>
      )}
    </Select>
  </label>
);

const options = (list: readonly FilterValue[] | undefined) =>
  (list ?? []).map(({ value, label }) => ({ value, label: plainText(label) }));

const HASTY = [{ value: "hasty", label: "hasty" }];
const OVERDUE = [{ value: "overdue", label: "overdue now" }];

interface FilterBarProps {
  readonly filter: HistoryFilterView;
  readonly onChange: (filter: HistoryFilterView) => void;
}

/** What to look for, beside the words. */
export const FilterBar = ({ filter, onChange }: FilterBarProps) => {
  const desk = useDesk();
  const { data } = useQuery({ queryKey: ["history-options"], queryFn: () => desk.call("history_filter_values", {}) });
  const put = (change: Partial<HistoryFilterView>): void => {
    onChange({ ...filter, ...change });
  };
  const pick = <N extends "risk" | "state">(name: N, value: string | null): void => {
    onChange({ ...filter, [name]: value as HistoryFilterView[N] });
  };
  const time = timeOf(filter, desk.now());
  const periods = PERIODS.map(([label]) => label);
  return (
    <div className="flex flex-wrap items-center gap-1.5" role="group" aria-label="Filters" data-testid="filters">
      <Choice
        label="Workspace"
        value={filter.workspace}
        options={options(data?.workspaces)}
        onChange={(workspace) => {
          put({ workspace });
        }}
      />
      <Choice
        label="Agent"
        value={filter.agent}
        options={options(data?.agents)}
        onChange={(agent) => {
          put({ agent });
        }}
      />
      <Choice
        label="Tool"
        value={filter.tool}
        options={options(data?.tools)}
        onChange={(tool) => {
          put({ tool });
        }}
      />
      <Choice
        label="Risk"
        value={filter.risk}
        options={RISKS}
        onChange={(risk) => {
          pick("risk", risk);
        }}
      />
      <Choice
        label="State"
        value={filter.state}
        options={STATES}
        onChange={(state) => {
          pick("state", state);
        }}
      />
      <Choice
        label="Verdict"
        value={filter.verdict}
        options={VERDICTS}
        onChange={(verdict) => {
          put({ verdict });
        }}
      />
      <Choice
        label="Decided by"
        value={filter.origin}
        options={ORIGINS}
        onChange={(origin) => {
          put({ origin });
        }}
      />
      <Choice
        label="Operator"
        value={filter.operator}
        options={options(data?.operators)}
        onChange={(operator) => {
          put({ operator });
        }}
      />
      {(data?.rules.length ?? 0) > 0 || filter.rule !== null ? (
        <Choice
          label="Rule"
          value={filter.rule}
          options={options(data?.rules)}
          onChange={(rule) => {
            put({ rule });
          }}
        />
      ) : null}
      <Choice
        label="Card open"
        value={filter.hasty ? "hasty" : null}
        options={HASTY}
        onChange={(hasty) => {
          put({ hasty: hasty !== null });
        }}
      />
      <Choice
        label="Delivery"
        value={filter.overdue ? "overdue" : null}
        options={OVERDUE}
        onChange={(overdue) => {
          put({ overdue: overdue !== null });
        }}
      />
      <Choice
        whole
        label="Any time"
        value={time}
        options={(time === null || periods.includes(time) ? periods : [...periods, time]).map((label) => ({
          value: label,
          label,
        }))}
        onChange={(label) => {
          const length = PERIODS.find(([name]) => name === label)?.[1];
          put({ sinceMs: length === undefined ? null : sinceOf(length, desk.now()), untilMs: null });
        }}
      />
      {isNarrow(filter) ? (
        <button
          type="button"
          className="rounded px-1.5 py-1 text-xs text-text-2 hover:bg-raised"
          onClick={() => {
            onChange(EVERYTHING);
          }}
        >
          Clear
        </button>
      ) : null}
    </div>
  );
};
