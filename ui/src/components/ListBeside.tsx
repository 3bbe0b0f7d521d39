import { useEffect, useState, type ReactNode } from "react";
import { useCommand } from "../commands/CommandContext";
import { FilterField } from "./FilterField";
import { Failed } from "./Failed";
import { LIST_AND_DETAIL } from "./Region";

interface Shown<T> {
  readonly rows: readonly T[];
  readonly chosen: string | null;
  readonly onChoose: (key: string) => void;
}

interface ListBesideProps<T> {
  readonly title: string;
  /** Beside the title. */
  readonly count: ReactNode;
  /** What the filter looks at. */
  readonly hint: string;
  /** Begins the names for tests: `agents` gives `agents-count`. */
  readonly name: string;
  readonly all: readonly T[];
  readonly fits: (one: T, filter: string) => boolean;
  /** What the screen was opened for. */
  readonly start?: string | null;
  /** What is shown while nobody has chosen; without it the first. */
  readonly first?: (one: T) => boolean;
  readonly pending: boolean;
  readonly error: Error | null;
  /** Instead of everything, when there is nothing. */
  readonly empty: string;
  readonly renderList: (shown: Shown<T>) => ReactNode;
  readonly renderDetail: (one: T) => ReactNode;
}

/**
 * A list with a filter, and what is chosen of it beside it. What is chosen is remembered by its key, not by its place.
 */
export const ListBeside = <T extends { readonly key: string }>({
  title,
  count,
  hint,
  name,
  all,
  fits,
  start = null,
  first,
  pending,
  error,
  empty,
  renderList,
  renderDetail,
}: ListBesideProps<T>) => {
  const [chosen, setChosen] = useState<string | null>(start);
  const [filter, setFilter] = useState("");
  useEffect(() => {
    if (start === null) return;
    setChosen(start);
    setFilter("");
  }, [start]);
  const rows = all.filter((one) => fits(one, filter));
  const usual = first === undefined ? undefined : rows.find(first);
  const shown = rows.find((one) => one.key === chosen) ?? usual ?? rows[0];
  // What is shown is what is chosen: whoever comes meanwhile takes nobody's place, least of all under typing hands.
  const seen = shown?.key ?? null;
  useEffect(() => {
    if (seen !== null) setChosen(seen);
  }, [seen]);
  const move = (step: 1 | -1): void => {
    const place = rows.findIndex((one) => one.key === shown?.key);
    setChosen(rows[Math.min(Math.max(place + step, 0), rows.length - 1)]?.key ?? null);
  };
  useCommand("next", () => {
    move(1);
  });
  useCommand("previous", () => {
    move(-1);
  });
  return (
    <div className={`${LIST_AND_DETAIL} grid-cols-[372px_minmax(0,1fr)] max-[900px]:grid-cols-[240px_minmax(0,1fr)]`}>
      <section className="flex min-h-0 flex-col border-r border-line" aria-label={title}>
        <header className="flex items-baseline gap-2 px-3.5 pt-3 pb-2">
          <h1 className="m-0 text-[15px] font-semibold">{title}</h1>
          <span className="text-text-3" data-testid={`${name}-count`}>
            {count}
          </span>
        </header>
        <FilterField
          label="Filter"
          placeholder={`Filter: ${hint}…`}
          value={filter}
          onChange={setFilter}
          className="mx-3.5 mb-2"
        />
        {all.length > 0 && rows.length === 0 ? (
          <p className="px-3.5 text-text-3">Nothing fits the filter. Esc clears it.</p>
        ) : null}
        {renderList({ rows, chosen: shown?.key ?? null, onChoose: setChosen })}
      </section>
      <main className="flex min-h-0 min-w-0 flex-col" aria-label={title}>
        <Failed error={error} className="px-7" />
        {shown === undefined ? (
          <div className="grid flex-1 place-items-center text-text-3" data-testid={`${name}-empty`}>
            {pending ? "Reading…" : all.length > 0 || error !== null ? "" : empty}
          </div>
        ) : (
          renderDetail(shown)
        )}
      </main>
    </div>
  );
};
