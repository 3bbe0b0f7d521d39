/** Drafts outlive the screen: looking something up elsewhere loses nothing. They end with the window. */
import { useSyncExternalStore } from "react";
import type { Drafts } from "./drafts";

type All = Readonly<Record<string, Drafts>>;

let all: All = {};
const listeners = new Set<() => void>();

export const keepDrafts = (agent: string, drafts: Drafts | undefined): void => {
  const { [agent]: _, ...others } = all;
  all = drafts === undefined ? others : { ...others, [agent]: drafts };
  for (const listener of listeners) listener();
};

/** What stands there now, for whoever waited meanwhile. */
export const draftsOf = (agent: string): Drafts | undefined => all[agent];

export const forgetAllDrafts = (): void => {
  all = {};
  for (const listener of listeners) listener();
};

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useAllDrafts = (): All => useSyncExternalStore(subscribe, () => all);
