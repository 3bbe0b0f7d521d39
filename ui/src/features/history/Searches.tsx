import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Bookmark, X } from "lucide-react";
import { useState } from "react";
import { Popover } from "../../components/over";
import { useDesk } from "../../desk/DeskContext";
import type { HistoryFilterView } from "../../ipc/generated";
import { isNarrow } from "./filter";
import { Failed } from "../../components/Failed";

interface SearchesProps {
  readonly filter: HistoryFilterView;
  readonly onChoose: (filter: HistoryFilterView) => void;
}

const KEY = ["saved-searches"];
const LONGEST_NAME = 80;

/** Filters that the operator gave a name. */
export const Searches = ({ filter, onChoose }: SearchesProps) => {
  const desk = useDesk();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const [name, setName] = useState("");
  const { data } = useQuery({ queryKey: KEY, queryFn: () => desk.call("saved_searches", {}) });
  const keep = (found: NonNullable<typeof data>): void => {
    queries.setQueryData(KEY, found);
  };
  const save = useMutation({
    mutationFn: () => desk.call("save_search", { name: name.trim(), filter }),
    onSuccess: (found) => {
      keep(found);
      setName("");
    },
  });
  const forget = useMutation({
    mutationFn: (gone: string) => desk.call("forget_search", { name: gone }),
    onSuccess: keep,
  });
  const trouble = save.error ?? forget.error;
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger
        className={`flex items-center gap-1.5 rounded-md border border-line bg-panel px-2 py-1 text-xs
        text-text-2 hover:bg-raised`}
      >
        <Bookmark size={13} aria-hidden="true" /> Searches
        {(data?.searches.length ?? 0) === 0 ? "" : `, ${data?.searches.length}`}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          aria-label="Saved searches"
          sideOffset={6}
          align="end"
          className="z-20 w-[320px] rounded-lg border border-line bg-panel p-3 shadow-lg"
          data-testid="searches"
        >
          {(data?.searches.length ?? 0) === 0 ? <p className="mt-0 mb-2 text-text-3">No search is saved yet.</p> : null}
          <ul className="m-0 mb-2 max-h-64 list-none overflow-auto p-0">
            {data?.searches.map((search) => (
              <li key={search.name} className="row-line flex items-center last:border-0">
                <button
                  type="button"
                  className="min-w-0 flex-1 truncate rounded px-1.5 py-1.5 text-left hover:bg-raised"
                  onClick={() => {
                    onChoose(search.filter);
                    setOpen(false);
                  }}
                >
                  {search.name}
                </button>
                <button
                  type="button"
                  className="rounded p-1 text-text-3 hover:bg-raised hover:text-text"
                  aria-label={`Forget ${search.name}`}
                  onClick={() => {
                    forget.mutate(search.name);
                  }}
                >
                  <X size={13} aria-hidden="true" />
                </button>
              </li>
            ))}
          </ul>
          <form
            className="flex gap-2"
            onSubmit={(event) => {
              event.preventDefault();
              if (name.trim() !== "" && isNarrow(filter)) save.mutate();
            }}
          >
            <input
              className="min-w-0 flex-1 rounded-md border border-line bg-bg px-2 py-1"
              placeholder={isNarrow(filter) ? "Name of this search" : "Narrow the history first"}
              aria-label="Name of this search"
              maxLength={LONGEST_NAME}
              disabled={!isNarrow(filter)}
              value={name}
              onChange={(event) => {
                setName(event.target.value);
              }}
            />
            <button
              type="submit"
              className="rounded-md border border-line bg-raised px-2.5 text-xs font-semibold disabled:opacity-45"
              disabled={name.trim() === "" || !isNarrow(filter)}
            >
              Save
            </button>
          </form>
          <Failed error={trouble} className="mt-2 mb-0" />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
};
