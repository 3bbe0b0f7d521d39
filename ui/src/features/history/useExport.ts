/** An export of what passes the filter: it goes on while other screens are looked at. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useDesk } from "../../desk/DeskContext";
import { createStore, useStore } from "../../desk/store";
import type { ExportFormat, ExportView, HistoryFilterView } from "../../ipc/generated";

const LOOK_MS = 200;
const current = createStore<number | null>(null);

export interface Export {
  /** How far it is; null while there is none. */
  readonly view: ExportView | null;
  /** A file is being chosen, or written. */
  readonly busy: boolean;
  readonly error: Error | null;
  readonly start: (format: ExportFormat, filter: HistoryFilterView) => void;
  readonly cancel: () => void;
  readonly dismiss: () => void;
}

export const useExport = (): Export => {
  const desk = useDesk();
  const number = useStore(current);
  const look = useQuery({
    queryKey: ["export", number],
    queryFn: () => desk.call("export", { number: number ?? 0 }),
    enabled: number !== null,
    refetchInterval: ({ state }) => (state.data?.ended === true || state.error !== null ? false : LOOK_MS),
    staleTime: 0,
  });
  const start = useMutation({
    mutationFn: (args: { readonly format: ExportFormat; readonly filter: HistoryFilterView }) =>
      desk.call("start_export", args),
    onSuccess: (begun) => {
      current.set(begun.number);
    },
  });
  const stop = useMutation({ mutationFn: (of: number) => desk.call("stop_export", { number: of }) });
  const view = number === null ? null : (look.data ?? null);
  return {
    view,
    busy: start.isPending || (number !== null && look.error === null && view?.ended !== true),
    error: start.error ?? stop.error ?? (number === null ? null : look.error),
    start: (format, filter) => {
      current.set(null);
      start.mutate({ format, filter });
    },
    cancel: () => {
      if (number !== null) stop.mutate(number);
    },
    dismiss: () => {
      current.set(null);
      start.reset();
      stop.reset();
    },
  };
};
