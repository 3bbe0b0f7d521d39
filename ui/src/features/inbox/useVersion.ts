import { useState } from "react";

/**
 * A number that changes with everything that is on screen of a card: its data, the edit, what is open of it, what is
 * still to do.
 */
export const useVersion = (...parts: readonly unknown[]): number => {
  const [last, setLast] = useState({ parts, version: 1 });
  // Query data keeps its identity while it is equal, so that a heartbeat does not disarm.
  if (last.parts.length === parts.length && last.parts.every((part, place) => Object.is(part, parts[place])))
    return last.version;
  const next = { parts, version: last.version + 1 };
  setLast(next);
  return next.version;
};
