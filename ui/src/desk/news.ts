/** Calls each listener; one that has left is not called. */
export interface News<T> {
  readonly tell: (news: T) => void;
  readonly subscribe: (listener: (news: T) => void) => () => void;
}

export const createNews = <T = void>(): News<T> => {
  const listeners = new Set<(news: T) => void>();
  return {
    tell: (news) => {
      for (const listener of listeners) listener(news);
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
};
