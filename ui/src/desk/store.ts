/** One value that several places of the page read and change. */
import { useSyncExternalStore } from "react";
import { createNews } from "./news";

export interface Store<T> {
  readonly get: () => T;
  readonly set: (value: T) => void;
  readonly subscribe: (listener: () => void) => () => void;
}

export const createStore = <T>(initial: T): Store<T> => {
  let value = initial;
  const news = createNews();
  return {
    get: () => value,
    set: (next) => {
      value = next;
      news.tell();
    },
    subscribe: news.subscribe,
  };
};

/** Its content, drawn anew with each change. */
export const useStore = <T>(store: Store<T>): T => useSyncExternalStore(store.subscribe, store.get);
