import { useEffect, useRef, type RefObject } from "react";

/** Calls `onSeen` once the element has been on screen; again for every new `content`. */
export const useSeenEnd = <Place extends HTMLElement>(content: string, onSeen: () => void): RefObject<Place | null> => {
  const end = useRef<Place>(null);
  const latest = useRef(onSeen);
  useEffect(() => {
    latest.current = onSeen;
  });
  useEffect(() => {
    const element = end.current;
    if (element === null) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) latest.current();
      },
      { threshold: 1 },
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, [content]);
  return end;
};

/** Says whether anything of the element is on screen, whenever that changes. */
export const useInView = <Place extends HTMLElement>(onChange: (is: boolean) => void): RefObject<Place | null> => {
  const place = useRef<Place>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const observer = new IntersectionObserver((entries) => {
      const last = entries.at(-1);
      if (last !== undefined) onChange(last.isIntersecting);
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, [onChange]);
  return place;
};
