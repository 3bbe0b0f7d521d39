import { useEffect, useRef, type RefObject } from "react";

/** Whether the component is still on screen, for an answer that comes late. */
export const useHere = (): RefObject<boolean> => {
  const here = useRef(false);
  useEffect(() => {
    here.current = true;
    return () => { here.current = false; };
  }, []);
  return here;
};
