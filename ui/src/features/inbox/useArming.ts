import { useCallback, useEffect, useLayoutEffect, useReducer, useRef, useState, type RefObject } from "react";
import { useStatus } from "../../desk/DeskContext";
import {
  arm,
  armedFor,
  armedFrom,
  disarmed,
  letGoAt,
  mayApprove,
  pressOf,
  type ArmingEvent,
  type PointerPress,
} from "./arming";

interface PressLike {
  readonly at: number;
  readonly repeat: boolean;
}

export interface ArmingView {
  readonly armed: boolean;
  /** Whether a key or pointer that went down just now counts. */
  readonly accepts: (press: PressLike) => boolean;
  /** Remembers what a pointer went down on; what its click may approve. */
  readonly pressed: (at: number) => void;
  readonly acceptsClick: (at: number) => boolean;
  /** For how long it was in front, armed and looked at until now, all its times together, ms. */
  readonly frontMs: () => number;
  /** What is asked was scrolled away, or back: its time goes on only while it is seen. */
  readonly seen: (is: boolean) => void;
}

/** What changes all the time, as the time left does. */
const isTick = ({ target }: MutationRecord): boolean =>
  (target instanceof Element ? target : target.parentElement)?.closest("[data-ticks]") != null;

/**
 * Feeds the arming of the card on screen. `identity` changes whenever its content does; whatever else changes in
 * `area`, which holds what is asked, counts as new content, too. `attended` is false while something covers the
 * card, it has no room in the window, or nothing can be sent: then nothing of it is looked at, an editor there
 * changes with every key, and what is there when it is attended again is new. A locked session disarms: a window may
 * keep its focus behind the lock.
 */
export const useArming = (
  identity: string | null,
  attended: boolean,
  area: RefObject<HTMLElement | null>,
): ArmingView => {
  const [state, dispatch] = useReducer(arm, disarmed);
  const latest = useRef(state);
  const locked = useStatus()?.locked ?? false;
  const pointer = useRef<PointerPress | null>(null);
  const [armed, setArmed] = useState(false);
  // What is on screen counts from the commit on, not from the next render.
  const front = useRef(0);
  const seenSince = useRef<number | null>(0);
  const running = useCallback((): number => armedFor(latest.current, performance.now(), seenSince.current), []);
  const send = useCallback(
    (event: ArmingEvent) => {
      const next = arm(latest.current, event);
      if (armedFrom(next) !== armedFrom(latest.current)) front.current += running();
      latest.current = next;
      dispatch(event);
    },
    [running],
  );
  const seen = useCallback(
    (is: boolean) => {
      if (is === (seenSince.current !== null)) return;
      front.current += running();
      seenSince.current = is ? performance.now() : null;
    },
    [running],
  );
  const frontMs = useCallback(() => Math.round(front.current + running()), [running]);

  const turn = useRef(0);
  useLayoutEffect(() => {
    let frame = 0;
    const show = (): void => {
      turn.current += 1;
      const shown = identity === null ? null : `${identity} ${turn.current}`;
      cancelAnimationFrame(frame);
      send({ type: "shown", identity: shown, at: performance.now() });
      if (shown === null) return;
      // The second frame begins after the first one, which holds this content, was painted.
      frame = requestAnimationFrame(() => {
        frame = requestAnimationFrame(() => {
          send({ type: "painted", identity: shown, at: performance.now() });
        });
      });
    };
    show();
    const observer = new MutationObserver((changes) => {
      if (!changes.every(isTick)) show();
    });
    if (attended && area.current !== null)
      observer.observe(area.current, { subtree: true, childList: true, characterData: true });
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
    };
  }, [area, attended, identity, send]);

  const here = attended && !locked;
  useLayoutEffect(() => {
    const look = (): void => {
      send(
        here && document.hasFocus() && document.visibilityState === "visible"
          ? { type: "focused", at: performance.now() }
          : { type: "lost" },
      );
    };
    look();
    window.addEventListener("focus", look);
    window.addEventListener("blur", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      window.removeEventListener("focus", look);
      window.removeEventListener("blur", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, [here, send]);

  const from = armedFrom(state);
  useEffect(() => {
    const wait = from === null ? null : from - performance.now();
    setArmed(wait !== null && wait <= 0);
    if (wait === null || wait <= 0) return undefined;
    const timer = setTimeout(() => {
      setArmed(true);
    }, wait);
    return () => {
      clearTimeout(timer);
    };
  }, [from]);

  useEffect(() => {
    const letGo = (event: PointerEvent): void => {
      pointer.current = letGoAt(pointer.current, event.timeStamp);
    };
    window.addEventListener("pointerup", letGo);
    window.addEventListener("pointercancel", letGo);
    return () => {
      window.removeEventListener("pointerup", letGo);
      window.removeEventListener("pointercancel", letGo);
    };
  }, []);

  const accepts = useCallback(
    (press: PressLike) => mayApprove(latest.current, { ...press, identity: latest.current.identity }),
    [],
  );
  const pressed = useCallback((at: number) => {
    pointer.current = { identity: latest.current.identity, at, upAt: null };
  }, []);
  const acceptsClick = useCallback((at: number) => {
    const press = pressOf(pointer.current, latest.current.identity, at);
    pointer.current = null;
    return mayApprove(latest.current, press);
  }, []);
  return { armed, accepts, pressed, acceptsClick, frontMs, seen };
};
