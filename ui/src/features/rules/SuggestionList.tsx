import { useState } from "react";
import { Kbd } from "../../components/Kbd";
import { ShownText } from "../../components/ShownText";
import { Day } from "../../components/Moment";
import { midnight } from "../../desk/clock";
import type { SuggestionView } from "../../ipc/generated";
import type { Suggestions } from "./useSuggestions";

const SMALL = "rounded-md border border-line px-2 py-0.5 text-xs text-text-2 hover:bg-raised hover:text-text";

/** Who approved how many, and when. */
export const Evidence = ({ of }: { readonly of: SuggestionView }) => (
  <>
    {of.approvals.toLocaleString("en")} approvals by{" "}
    {of.operators.map((name, place) => (
      // The names of one suggestion keep their order.
      // oxlint-disable-next-line react/no-array-index-key
      <span key={place}>
        {place === 0 ? "" : place === of.operators.length - 1 ? " and " : ", "}
        <ShownText text={name} />
      </span>
    ))}
    , none denied, <Day ms={of.firstMs} />
    {midnight(of.firstMs) === midnight(of.lastMs) ? null : (
      <>
        {" "}
        to <Day ms={of.lastMs} />
      </>
    )}
  </>
);

interface LineProps {
  readonly of: SuggestionView;
  readonly chosen: boolean;
  readonly onLook: () => void;
  readonly onDismiss: () => void;
}

const Line = ({ of, chosen, onLook, onDismiss }: LineProps) => (
  <li
    className={`row-line flex items-center gap-3 border-l-[3px] py-2 pr-5 pl-[17px] last:border-b-0
      ${chosen ? "border-l-accent bg-raised" : "border-l-transparent hover:bg-panel"}`}
    data-testid="suggestion"
    data-id={of.id}
    data-chosen={chosen}
  >
    <button type="button" className="min-w-0 flex-1 text-left" aria-pressed={chosen} onClick={onLook}>
      <span className="block truncate">
        <b className="font-semibold">
          <ShownText text={of.name} />
        </b>{" "}
        <span className="text-text-2">
          <ShownText text={of.args} />
        </span>
      </span>
      <small className="block truncate text-xs text-text-3">
        <Evidence of={of} />
      </small>
    </button>
    <button type="button" className={SMALL} onClick={onDismiss}>
      {of.dismissed ? "Suggest again" : "Dismiss"}
    </button>
  </li>
);

interface SuggestionListProps {
  readonly suggestions: Suggestions;
  readonly chosen: string | null;
  readonly onLook: (id: string) => void;
}

/**
 * What the console would propose as rules, below the rules themselves. Refuses to turn one on: it opens in the editor.
 */
export const SuggestionList = ({ suggestions, chosen, onLook }: SuggestionListProps) => {
  const { view, trouble, dismiss } = suggestions;
  const [all, setAll] = useState(false);
  if (view === null && trouble === null) return null;
  const offered = view?.suggestions.filter((of) => !of.dismissed) ?? [];
  const gone = view?.suggestions.filter((of) => of.dismissed) ?? [];
  const shown = all ? [...offered, ...gone] : offered;
  return (
    <section
      className="flex max-h-[45%] shrink-0 flex-col border-t border-line"
      aria-label="Suggested rules"
      data-testid="suggestions"
      data-count={offered.length}
    >
      <header className="flex items-center gap-2.5 px-5 py-2">
        <h2 className="m-0 shrink-0 text-[11.5px] font-semibold whitespace-nowrap text-text-3">
          Suggested{offered.length === 0 ? "" : `, ${offered.length}`}
        </h2>
        {offered.length === 0 ? null : <Kbd command="suggestion" quiet />}
        <span className="min-w-0 truncate text-xs text-text-3">
          {view === null
            ? ""
            : !view.ready
              ? `Reading what people approved, ${view.looked.toLocaleString("en")} calls…`
              : `approved at least ${view.approvalsMin} times in ${view.windowDays} days, never denied`}
        </span>
        {gone.length === 0 ? null : (
          <button
            type="button"
            className={`ml-auto ${SMALL}`}
            aria-expanded={all}
            onClick={() => {
              setAll(!all);
            }}
          >
            {gone.length} dismissed
          </button>
        )}
      </header>
      {trouble === null ? null : (
        <p role="alert" className="m-0 px-5 pb-2 text-bad">
          {trouble}
        </p>
      )}
      {view?.ready === true && shown.length === 0 ? (
        <p className="m-0 px-5 pb-3 text-text-3" data-testid="suggestions-empty">
          Nothing is suggested now.
        </p>
      ) : null}
      {shown.length === 0 ? null : (
        <ul className="m-0 min-h-0 list-none overflow-auto border-t border-line-soft p-0">
          {shown.map((of) => (
            <Line
              key={of.id}
              of={of}
              chosen={of.id === chosen}
              onLook={() => {
                onLook(of.id);
              }}
              onDismiss={() => void dismiss(of, !of.dismissed)}
            />
          ))}
        </ul>
      )}
    </section>
  );
};
