import { useEffect, useRef, type RefObject } from "react";

export type Here = RefObject<boolean>;

/** Whether the component is still on screen, for an answer that comes late. */
export const useHere = (): Here => {
  const here = useRef(false);
  useEffect(() => {
    here.current = true;
    return () => {
      here.current = false;
    };
  }, []);
  return here;
};
