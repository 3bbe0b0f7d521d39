import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useHere } from "../../../components/useHere";
import { useDesk } from "../../../desk/DeskContext";
import type { EditProblem, Shown } from "../../../ipc/generated";
import { plainText } from "../../../components/shown";
import { toCallError } from "../../../ipc/transport";
import { fromJson, gapsOf, isDrawn, valueAt, type Structure } from "./structure";

/** What the core said of an answer, and which answer it was. */
interface Said {
  readonly json: string;
  readonly problems: readonly EditProblem[];
}

interface AnswerCheck {
  /** Beside their fields, by place. */
  readonly beside: ReadonlyMap<string, Shown>;
  /** Without a field of their own. */
  readonly others: readonly EditProblem[];
  /** Why nothing could be checked. */
  readonly trouble: string | null;
  /** Whether the answer may be sent; from then on what is wrong is shown, and followed as it is typed. */
  readonly mayBeSent: () => Promise<boolean>;
}

const PAUSE_MS = 200;
const NOTHING: ReadonlyMap<string, string> = new Map();

/** Checks an answer once somebody wants to send it, and from then on as it is typed. */
export const useAnswerCheck = (key: string, structure: Structure | null, data: unknown, json: string): AnswerCheck => {
  const desk = useDesk();
  const here = useHere();
  const [tried, setTried] = useState(false);
  const [said, setSaid] = useState<Said | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  // What is typed while it is checked makes the check of the former text void; a second check of one text does not.
  const newest = useRef(json);
  useEffect(() => {
    newest.current = json;
  }, [json]);

  const check = useCallback(async (): Promise<readonly EditProblem[] | null> => {
    const counts = (): boolean => here.current && newest.current === json;
    try {
      const { problems } = await desk.call("check_answer", { key, json });
      if (!counts()) return null;
      setSaid({ json, problems });
      setTrouble(null);
      return problems;
    } catch (thrown) {
      if (counts()) setTrouble(toCallError(thrown).message);
      return null;
    }
  }, [desk, here, json, key]);

  useEffect(() => {
    if (!tried || said?.json === json) return undefined;
    const timer = setTimeout(() => void check(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [check, json, said, tried]);

  const gaps = useMemo(
    () => (structure === null || !tried ? NOTHING : gapsOf(structure, data)),
    [data, structure, tried],
  );
  const [beside, others] = useMemo(() => {
    const places = new Map<string, Shown>(
      [...gaps].map(([place, text]): [string, Shown] => [place, [{ kind: "text", text }]]),
    );
    /** Something there is asked for already; of a group, one of its fields. */
    const isAsked = (place: string): boolean =>
      places.has(place) || [...gaps.keys()].some((gap) => gap.startsWith(`${place}/`));
    const rest: EditProblem[] = [];
    const before = said === null ? undefined : fromJson(said.json);
    for (const problem of said?.problems ?? []) {
      const place = plainText(problem.path);
      if (structure === null || !isDrawn(structure, place)) rest.push(problem);
      // What was empty when it was checked and is filled in by now is checked again in a moment.
      else if (!isAsked(place) && (valueAt(before, place) !== undefined || valueAt(data, place) === undefined))
        places.set(place, problem.message);
    }
    return [places, rest] as const;
  }, [data, gaps, said, structure]);

  const mayBeSent = useCallback(async (): Promise<boolean> => {
    setTried(true);
    if (structure !== null && gapsOf(structure, data).size > 0) return false;
    return (await check())?.length === 0;
  }, [check, data, structure]);

  return { beside, others, trouble, mayBeSent };
};
