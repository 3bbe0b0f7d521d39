import { useCallback, useEffect, useLayoutEffect, useReducer, useRef, useState } from "react";
import { useStatus } from "../../desk/DeskContext";
import { arm, armedFrom, disarmed, mayApprove, type ArmingEvent } from "./arming";

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
}

/**
 * Feeds the arming of the card on screen. `identity` changes whenever its content does; `attended` is
 * false while something covers the card or nothing can be sent. A locked session disarms: a window may keep its focus behind the lock.
 */
export const useArming = (identity: string | null, attended: boolean): ArmingView => {
  const [state, dispatch] = useReducer(arm, disarmed);
  const latest = useRef(state);
  const locked = useStatus()?.locked ?? false;
  const pointer = useRef<{ identity: string | null; at: number } | null>(null);
  const [armed, setArmed] = useState(false);
  // What is on screen counts from the commit on, not from the next render.
  const send = useCallback((event: ArmingEvent) => {
    latest.current = arm(latest.current, event);
    dispatch(event);
  }, []);

  useLayoutEffect(() => {
    pointer.current = null;
    send({ type: "shown", identity, at: performance.now() });
    if (identity === null) return undefined;
    // The second frame begins after the first one, which holds this content, was painted.
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => { send({ type: "painted", identity, at: performance.now() }); });
    });
    return () => { cancelAnimationFrame(frame); };
  }, [identity, send]);

  useLayoutEffect(() => {
    const look = (): void => {
      const here = attended && !locked && document.hasFocus() && document.visibilityState === "visible";
      send(here ? { type: "focused", at: performance.now() } : { type: "lost" });
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
  }, [attended, locked, send]);

  const from = armedFrom(state);
  useEffect(() => {
    const wait = from === null ? null : from - performance.now();
    setArmed(wait !== null && wait <= 0);
    if (wait === null || wait <= 0) return undefined;
    const timer = setTimeout(() => { setArmed(true); }, wait);
    return () => { clearTimeout(timer); };
  }, [from]);

  const accepts = useCallback(
    (press: PressLike) => mayApprove(latest.current, { ...press, identity: latest.current.identity }), [],
  );
  const pressed = useCallback((at: number) => { pointer.current = { identity: latest.current.identity, at }; }, []);
  const acceptsClick = useCallback((at: number) => {
    const press = pointer.current ?? { identity: latest.current.identity, at };
    pointer.current = null;
    return mayApprove(latest.current, { ...press, repeat: false });
  }, []);
  return { armed, accepts, pressed, acceptsClick };
};
