/** Slows down the card after too many that were decided in haste. */
import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useState } from "react";
import { useDesk } from "../../desk/DeskContext";
import { createUnsaved } from "../../desk/unsaved";
import type { Card } from "../../ipc/generated";
import { lookOf, noted, wordsOf, type Look } from "./haste";

const LOOK_MS = 100;
const ROW = "row";

/** Of this window, for as long as its page is open. */
const looks = createUnsaved<readonly Look[]>();

export interface Haste {
  /** Why the card is not armed yet; null where nothing slows it down. */
  readonly slowed: string | null;
  /** A card was decided. */
  readonly note: (card: Card, frontMs: number) => void;
}

/** `frontMs` is how long what is shown was in front until now, `readMs` how long it takes to read. */
export const useHaste = (readMs: number, frontMs: () => number): Haste => {
  const desk = useDesk();
  const { data } = useQuery({ queryKey: ["haste_brake"], queryFn: () => desk.call("haste_brake", { on: null }) });
  const words = data?.on === false ? null : wordsOf(looks.of(ROW) ?? []);
  const [isRead, setRead] = useState(false);
  useEffect(() => {
    if (words === null || isRead) return undefined;
    const timer = setInterval(() => {
      if (frontMs() >= readMs) setRead(true);
    }, LOOK_MS);
    return () => {
      clearInterval(timer);
    };
  }, [frontMs, isRead, readMs, words]);
  const note = useCallback(
    (card: Card, ms: number) => {
      looks.keep(ROW, noted(looks.of(ROW) ?? [], lookOf(card, ms, desk.now())));
    },
    [desk],
  );
  return { slowed: isRead ? null : words, note };
};
