import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";

interface BoundedProps {
  /** Says how high it may become. */
  readonly className: string;
  readonly name?: string;
  readonly children: ReactNode;
}

/** A place that agent text cannot make higher than it may be: what does not fit scrolls, by keyboard alone too. */
export const Bounded = ({ className, name, children }: BoundedProps) => {
  const place = useRef<HTMLDivElement>(null);
  const [scrolls, setScrolls] = useState(false);
  const look = (): void => {
    setScrolls(place.current !== null && place.current.scrollHeight > place.current.clientHeight);
  };
  // Its content changes with the page, its height with the window.
  useLayoutEffect(look);
  useEffect(() => {
    const observer = new ResizeObserver(look);
    if (place.current !== null) observer.observe(place.current);
    return () => {
      observer.disconnect();
    };
  }, []);
  return (
    <div
      ref={place}
      className={`${scrolls ? "overflow-auto" : "overflow-hidden"} ${className}`}
      data-testid={name}
      {...(scrolls ? { tabIndex: 0 } : {})}
    >
      {children}
    </div>
  );
};
