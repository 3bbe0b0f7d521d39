import { useRef } from "react";
import type { Card } from "../../ipc/generated";
import type { Draft } from "./useCardActs";

/** A number that changes with everything that is on screen of a card: its data and the edit. */
export const useVersion = (card: Card, draft: Draft | null): number => {
  const last = useRef<{ card: Card; draft: Draft | null; version: number }>({ card, draft, version: 1 });
  // Query data keeps its identity while it is equal, so that a heartbeat does not disarm.
  if (last.current.card !== card || last.current.draft !== draft) {
    last.current = { card, draft, version: last.current.version + 1 };
  }
  return last.current.version;
};
