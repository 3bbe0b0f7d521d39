/** A rule tried on the past: begun anew for every text that may be saved, looked at until it ends. */
import { useCallback, useEffect, useState } from "react";
import { useDesk } from "../../desk/DeskContext";
import type { PreviewView } from "../../ipc/generated";
import { toCallError } from "../../ipc/transport";

const LOOK_MS = 150;
/** A person who types begins no simulation for each letter. */
const PAUSE_MS = 500;
export const DAYS = [90, 30, 7, 0] as const;
export type Days = (typeof DAYS)[number];

export interface RulePreview {
  readonly days: Days;
  readonly setDays: (days: Days) => void;
  readonly view: PreviewView | null;
  readonly running: boolean;
  readonly trouble: string | null;
  readonly cancel: () => void;
  readonly again: () => void;
}

/** `text` is null while it cannot be tried. */
export const usePreview = (workspace: string, text: string | null): RulePreview => {
  const desk = useDesk();
  const [days, setDays] = useState<Days>(90);
  const [round, setRound] = useState(0);
  const [view, setView] = useState<PreviewView | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [number, setNumber] = useState<number | null>(null);

  useEffect(() => {
    setView(null);
    setTrouble(null);
    setNumber(null);
    if (text === null) return undefined;
    let wanted = true;
    let begun: number | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    // A failure here does not matter: nobody looks at it any more.
    const stop = (of: number): void => {
      desk.call("stop_preview", { number: of }).catch(() => {});
    };
    const failed = (thrown: unknown): void => {
      if (wanted) setTrouble(toCallError(thrown).message);
    };
    const look = (of: number): void => {
      desk.call("preview", { number: of }).then((seen) => {
        if (!wanted) return;
        setView(seen);
        if (seen.report === null && seen.trouble === null)
          timer = setTimeout(() => {
            look(of);
          }, LOOK_MS);
      }, failed);
    };
    timer = setTimeout(
      () => {
        desk.call("start_preview", { workspace, text, days }).then(({ number: of }) => {
          // Its editor may be left by now.
          if (!wanted) {
            stop(of);
            return;
          }
          begun = of;
          setNumber(of);
          look(of);
        }, failed);
      },
      round === 0 ? PAUSE_MS : 0,
    );
    return () => {
      wanted = false;
      clearTimeout(timer);
      if (begun !== null) stop(begun);
    };
  }, [days, desk, round, text, workspace]);

  const cancel = useCallback(() => {
    if (number !== null) desk.call("stop_preview", { number }).catch(() => {});
  }, [desk, number]);
  const ended = trouble !== null || (view !== null && (view.report !== null || view.trouble !== null));
  return {
    days,
    setDays,
    view,
    running: text !== null && !ended,
    trouble: trouble ?? view?.trouble ?? null,
    cancel,
    again: () => {
      setRound((before) => before + 1);
    },
  };
};
