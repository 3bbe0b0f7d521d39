import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useCommand } from "../../commands/CommandContext";
import { Kbd } from "../../components/Kbd";
import { FilterField } from "../../components/FilterField";
import { plainText } from "../../components/shown";
import { Select } from "../../components/Select";
import { useDesk } from "../../desk/DeskContext";
import type { RuleRow, RuleText } from "../../ipc/generated";
import { changedRules } from "../../components/rules/unsaved";
import { LIST_AND_DETAIL } from "../../components/Region";
import { RuleDesk } from "../../components/rules/RuleDesk";
import { RuleList } from "./RuleList";
import { RulePane } from "./RulePane";
import { SuggestionList } from "./SuggestionList";
import { SuggestionPane } from "./SuggestionPane";
import { useSuggestions } from "./useSuggestions";
import { Failed } from "../../components/Failed";

/** Other consoles change rules too: the list is read again after this time. */
const AGAIN_MS = 3_000;
const NEW: RuleText = {
  id: "",
  version: 0,
  text: 'id = "my-rule"\nname = "What it is for"\nenabled = "shadow"\neffect = "ask"\ntool = ["the_tool"]\n',
};

const fits = (row: RuleRow, filter: string): boolean =>
  [row.id, plainText(row.name), plainText(row.about)].some((words) =>
    words.toLowerCase().includes(filter.trim().toLowerCase()),
  );

const bar =
  "flex items-center gap-1.5 rounded-md border border-line bg-panel px-[9px] py-[3px] text-text-2 hover:bg-raised " +
  "hover:text-text";

/** What need not ask: the rules of a workspace, and one of them beside its effect on the past. */
export const RulesScreen = () => {
  const desk = useDesk();
  const navigate = useNavigate();
  const { ws, id } = useSearch({ from: "/rules" });
  const { data, error, isPending, isPlaceholderData } = useQuery({
    queryKey: ["rules", ws ?? null],
    queryFn: () => desk.call("rules_list", { workspace: ws ?? null }),
    refetchInterval: AGAIN_MS,
    staleTime: 0,
    placeholderData: (before) => before,
  });
  const { data: words } = useQuery({
    queryKey: ["rule-words"],
    queryFn: () => desk.call("rule_words", {}),
    staleTime: Infinity,
  });
  const [writing, setWriting] = useState(false);
  const [looked, setLooked] = useState<string | null>(null);
  const [filter, setFilter] = useState("");
  const all = data?.rules ?? [];
  const rows = all.filter((one) => fits(one, filter));
  const workspace = data?.workspace ?? ws ?? "";
  const open = all.find((one) => one.id === id) ?? rows[0];
  const place = rows.findIndex((one) => one.id === open?.id);
  const suggestions = useSuggestions(data?.workspace ?? "", data?.revision ?? 0);
  const offered = suggestions.view?.suggestions.filter((of) => !of.dismissed) ?? [];
  const suggested = suggestions.view?.suggestions.find((of) => of.id === looked) ?? null;
  const [last, setLast] = useState<{ readonly workspace: string; readonly row: RuleRow } | null>(null);
  // A rule that somebody removed while it was changed here stays open with what was typed.
  const gone =
    last !== null &&
    last.workspace === workspace &&
    last.row.id === id &&
    open?.id !== id &&
    changedRules.of(`${workspace}/${last.row.id}`) !== undefined;
  const row = writing || suggested !== null ? undefined : gone ? last.row : open;
  const look = (next: string | null, write = false): void => {
    setWriting(write);
    setLooked(next);
  };
  const choose = (next: string | undefined): void => {
    look(null);
    if (next !== undefined)
      void navigate({
        to: "/rules",
        search: { ...(workspace === "" ? {} : { ws: workspace }), id: next },
        replace: true,
      });
  };
  // What is open stays open: a rule that comes before it takes nobody's place.
  useEffect(() => {
    if (row === undefined || gone || isPlaceholderData) return;
    setLast((before) => (before?.row === row && before.workspace === workspace ? before : { workspace, row }));
    if (row.id !== id)
      void navigate({
        to: "/rules",
        search: { ...(workspace === "" ? {} : { ws: workspace }), id: row.id },
        replace: true,
      });
  }, [gone, id, isPlaceholderData, navigate, row, workspace]);
  useCommand("next", () => {
    choose(rows[Math.min(Math.max(place + (writing ? 0 : 1), 0), rows.length - 1)]?.id);
  });
  useCommand("previous", () => {
    choose(rows[Math.max(place - (writing ? 0 : 1), 0)]?.id);
  });
  useCommand("newRule", () => {
    look(null, true);
  });
  useCommand("suggestion", () => {
    const next = offered[(offered.findIndex((of) => of.id === looked) + 1) % Math.max(offered.length, 1)];
    if (next === undefined) return false;
    look(next.id);
    return true;
  });
  useCommand("matrix", () => void navigate({ to: "/rules/matrix", search: workspace === "" ? {} : { ws: workspace } }));
  useCommand("choose", () => {
    document.querySelector<HTMLElement>("[data-testid=rule-desk] .cm-content")?.focus();
  });
  useCommand("back", () => {
    const typing =
      document.activeElement instanceof HTMLElement && document.activeElement.closest(".cm-editor") !== null;
    if (!typing && !writing && suggested === null) return false;
    if (typing) (document.activeElement as HTMLElement).blur();
    else look(null);
    return true;
  });
  return (
    <div
      className={`${LIST_AND_DETAIL} grid-cols-[minmax(0,1fr)_470px] max-xl:grid-cols-[minmax(0,1fr)_420px]
        max-[900px]:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]`}
    >
      <section className="flex min-h-0 flex-col border-r border-line" aria-label="Rules">
        <header
          className={`flex items-center gap-2.5 border-b border-line px-5 py-3 max-lg:gap-2 max-lg:px-4
            max-[900px]:flex-wrap`}
        >
          <h1 className="m-0 mr-1.5 text-[15px] font-semibold">Rules</h1>
          <span className="shrink-0 text-text-3" data-testid="rules-count">
            {all.length.toLocaleString("en")} {all.length === 1 ? "rule" : "rules"}
          </span>
          <label className="flex min-w-0 items-center gap-1.5 text-text-2">
            <span className="max-lg:sr-only">workspace</span>
            <Select
              className="max-w-44 min-w-0 border-line py-[3px] font-semibold text-text"
              aria-label="Workspace"
              value={workspace}
              onChange={(event) => {
                look(null);
                void navigate({ to: "/rules", search: { ws: event.target.value } });
              }}
            >
              {(data?.workspaces ?? [workspace]).map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </Select>
          </label>
          <span className="truncate text-text-3 max-xl:hidden">strongest wins: deny, ask, approve</span>
          <button
            type="button"
            className={`ml-auto ${bar}`}
            onClick={() => void navigate({ to: "/rules/matrix", search: workspace === "" ? {} : { ws: workspace } })}
          >
            Matrix <Kbd command="matrix" />
          </button>
          <button
            type="button"
            className={bar}
            onClick={() => {
              look(null, true);
            }}
          >
            New <Kbd command="newRule" />
          </button>
        </header>
        <FilterField
          label="Filter"
          placeholder="Filter: id, name, tool, agent…"
          value={filter}
          onChange={setFilter}
          className="mx-5 my-2"
        />
        <Failed error={error} className="px-5" />
        {rows.length > 0 ? (
          <RuleList
            rows={rows}
            workspace={workspace}
            chosen={row?.id ?? null}
            nowMs={data?.serverMs ?? 0}
            onChoose={choose}
          />
        ) : (
          <div className="grid flex-1 place-items-center px-7 text-center text-text-3" data-testid="rules-empty">
            {isPending ? (
              "Reading…"
            ) : all.length > 0 ? (
              "No rule fits the filter. Esc clears it."
            ) : error === null ? (
              <p className="m-0 max-w-[420px]">
                No rules yet, so every call needs a person. Write one with <Kbd command="newRule" />, or draft one from
                a card with <Kbd command="grant" />.
              </p>
            ) : (
              ""
            )}
          </div>
        )}
        <SuggestionList suggestions={suggestions} chosen={suggested?.id ?? null} onLook={look} />
      </section>
      <main className="flex min-h-0 min-w-0 flex-col" data-testid="rule-desk" aria-label="Rules">
        {words === undefined || data === undefined ? null : row === undefined ? (
          writing ? (
            <>
              <h2 className="m-0 px-5 pt-[18px] text-base font-semibold">New rule</h2>
              <RuleDesk
                key={`new in ${workspace}`}
                workspace={workspace}
                rule={NEW}
                words={words}
                state={null}
                takesFocus
                onSaved={(saved) => {
                  choose(saved.id);
                }}
              />
            </>
          ) : suggested !== null ? (
            <SuggestionPane
              key={`${workspace} ${suggested.id}`}
              workspace={workspace}
              of={suggested}
              words={words}
              onSaved={(saved) => {
                choose(saved.id);
              }}
              onDismiss={() => {
                look(null);
                void suggestions.dismiss(suggested, !suggested.dismissed);
              }}
            />
          ) : (
            <div className="grid flex-1 place-items-center px-7 text-center text-text-3">
              {rows.length === 0 ? "" : "No rule is chosen."}
            </div>
          )
        ) : (
          <RulePane
            key={`${workspace}/${row.id}`}
            workspace={workspace}
            row={row}
            gone={gone}
            words={words}
            nowMs={data.serverMs}
            onSaved={(saved) => {
              choose(saved.id);
            }}
          />
        )}
      </main>
    </div>
  );
};
