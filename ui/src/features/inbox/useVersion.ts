import { useState } from "react";
import type { Card } from "../../ipc/generated";
import type { Draft } from "./useCardActs";

/** A number that changes with everything that is on screen of a card: its data and the edit. */
export const useVersion = (card: Card, draft: Draft | null): number => {
  const [last, setLast] = useState({ card, draft, version: 1 });
  // Query data keeps its identity while it is equal, so that a heartbeat does not disarm.
  if (last.card === card && last.draft === draft) return last.version;
  const next = { card, draft, version: last.version + 1 };
  setLast(next);
  return next.version;
};
