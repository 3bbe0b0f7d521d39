/**
 * Something stored that is edited: what was typed over the version that was seen, and what became of saving it. Rules
 * and setups both go through here.
 */
import { useCallback, useState } from "react";
import { useStore } from "../desk/store";
import { createUnsaved, type Unsaved } from "../desk/unsaved";
import { toCallError } from "../ipc/transport";
import { tellLate } from "./lateFailures";
import { useHere } from "./useHere";

/** What is being saved, by its name: its editor may be left, and another one of it be open, when the answer comes. */
const savings = createUnsaved<true>();

/** What the console answered; `late` is for whoever has left the editor by then. */
export type Answer<T, C, R> =
  | { readonly saved: T }
  | { readonly conflict: C; readonly late: string }
  | { readonly refused: R; readonly late: string };

interface Result<C, R> {
  readonly conflict: C | null;
  readonly refused: R | null;
  readonly failed: string | null;
}

export interface Edit<D, C, R> extends Result<C, R> {
  /** What was typed and is not saved; it outlives a look elsewhere. */
  readonly draft: D | undefined;
  readonly keep: (draft: D | undefined) => void;
  /** The version that was seen: that of the draft, else what is stored as far as this window knows. */
  readonly seen: number | undefined;
  readonly saving: boolean;
  /** Changes what is said of the last saving. */
  readonly put: (change: (before: Result<C, R>) => Partial<Result<C, R>>) => void;
  /** Saves; null when it did not. `question` names it to whoever has left the editor. */
  readonly save: <T>(question: string, run: () => Promise<Answer<T, C, R>>) => Promise<T | null>;
  /** Nothing else is sent while `run` lasts. */
  readonly during: <T>(run: () => Promise<T>) => Promise<T>;
}

interface EditOf<D> {
  readonly drafts: Unsaved<D>;
  /** Of the draft; null where nothing of it is kept. */
  readonly place: string | null;
  /** Of the saving. */
  readonly name: string;
  readonly seenIn: (draft: D) => number;
  readonly stored: number | undefined;
}

const NOTHING = { conflict: null, refused: null, failed: null };

export const useEdit = <D, C, R>({ drafts, place, name, seenIn, stored }: EditOf<D>): Edit<D, C, R> => {
  const here = useHere();
  const all = useStore(drafts.all);
  const draft = place === null ? undefined : all[place];
  const saving = useStore(savings.all)[name] === true;
  const [result, setResult] = useState<Result<C, R>>(NOTHING);
  const put = useCallback((change: (before: Result<C, R>) => Partial<Result<C, R>>): void => {
    setResult((before) => ({ ...before, ...change(before) }));
  }, []);
  const during = async <T>(run: () => Promise<T>): Promise<T> => {
    savings.keep(name, true);
    try {
      return await run();
    } finally {
      savings.keep(name, undefined);
    }
  };
  const save = async <T>(question: string, run: () => Promise<Answer<T, C, R>>): Promise<T | null> => {
    const say = (change: Partial<Result<C, R>>, late: string): null => {
      if (here.current) put(() => change);
      else tellLate(question, late);
      return null;
    };
    put(() => ({ failed: null, refused: null }));
    return during(async () => {
      try {
        const answer = await run();
        if ("saved" in answer) return answer.saved;
        if ("conflict" in answer) return say({ conflict: answer.conflict }, answer.late);
        return say({ refused: answer.refused }, answer.late);
      } catch (thrown) {
        const { message } = toCallError(thrown);
        return say({ failed: message }, `It failed: ${message}`);
      }
    });
  };
  return {
    ...result,
    draft,
    keep: (next) => {
      if (place !== null) drafts.keep(place, next);
    },
    seen: draft === undefined ? stored : seenIn(draft),
    saving,
    put,
    save,
    during,
  };
};
