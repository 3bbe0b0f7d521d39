/**
 * What was typed and neither saved nor sent: it outlives a look at another card or screen, and ends with the window.
 */
import { createStore, type Store } from "./store";

type All<T> = Readonly<Record<string, T>>;

export interface Unsaved<T> {
  readonly of: (place: string) => T | undefined;
  /** Nothing forgets it. */
  readonly keep: (place: string, value: T | undefined) => void;
  readonly all: Store<All<T>>;
}

const clears: (() => void)[] = [];

/** Texts of one kind, each under the name of what it belongs to. */
export const createUnsaved = <T>(): Unsaved<T> => {
  const all = createStore<All<T>>({});
  clears.push(() => {
    all.set({});
  });
  return {
    all,
    of: (place) => all.get()[place],
    keep: (place, value) => {
      const { [place]: before, ...others } = all.get();
      if (before !== value) all.set(value === undefined ? others : { ...others, [place]: value });
    },
  };
};

/** A page that begins anew, as each test does, has nothing typed. */
export const forgetUnsaved = (): void => {
  for (const clear of clears) clear();
};
