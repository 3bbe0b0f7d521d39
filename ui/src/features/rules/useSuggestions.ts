import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useDesk } from "../../desk/DeskContext";
import type { SuggestionsView, SuggestionView } from "../../ipc/generated";
import { toCallError } from "../../ipc/transport";

/** The search goes on beside the window: it is asked again until it has ended. */
const SEARCHING_MS = 500;
const AGAIN_MS = 30_000;

export interface Suggestions {
  readonly view: SuggestionsView | null;
  readonly trouble: string | null;
  /** Sets one aside for good, or takes it back. */
  readonly dismiss: (of: SuggestionView, dismissed: boolean) => Promise<void>;
}

/** What people of a workspace approve again and again under these rules; `workspace` is empty until it is known. */
export const useSuggestions = (workspace: string, revision: number): Suggestions => {
  const desk = useDesk();
  const queries = useQueryClient();
  const [refused, setRefused] = useState<string | null>(null);
  const { data, error } = useQuery({
    // Other rules suggest something else: until that is known, what was suggested before stays.
    queryKey: ["suggestions", workspace, revision],
    queryFn: () => desk.call("suggestions", { workspace }),
    enabled: workspace !== "",
    staleTime: 0,
    placeholderData: (before, query) => (query?.queryKey[1] === workspace ? before : undefined),
    refetchInterval: (query) => (query.state.data?.ready === false ? SEARCHING_MS : AGAIN_MS),
  });
  const dismiss = async (of: SuggestionView, dismissed: boolean): Promise<void> => {
    setRefused(null);
    try {
      await desk.call("dismiss_suggestion", { workspace, id: of.id, dismissed });
      await queries.invalidateQueries({ queryKey: ["suggestions", workspace] });
    } catch (thrown) {
      setRefused(toCallError(thrown).message);
    }
  };
  return {
    view: data ?? null,
    trouble: refused ?? data?.trouble ?? (error === null ? null : toCallError(error).message),
    dismiss,
  };
};
