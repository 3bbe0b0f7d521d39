/** Whether what is asked has room in the window. False for a card with too little in view. */
import { useEffect, useRef, useState, type ReactNode, type RefObject } from "react";

type Place = RefObject<HTMLDivElement | null>;

export interface OnScreen {
  /** Holds everything that is asked. */
  readonly area: Place;
  /** As high as the area must at least be. */
  readonly room: Place;
  /** The bottom of everything. */
  readonly bottom: Place;
  /** Both are in the window, and every value has room; null until it was looked. */
  readonly inView: boolean | null;
}

/** Not all of it: a place between two pixels is never seen whole, as at a zoom of 110 %. */
const SEEN = 0.9;

/** A value is read from this width on: about 16 letters. */
const VALUE_PX = 120;

/** Whether each value in `area` is wide enough to be read; null until it was looked. */
const useRoomForValues = (area: Place, content: string): boolean | null => {
  const [hasRoom, setHasRoom] = useState<boolean | null>(null);
  useEffect(() => {
    const values = area.current?.querySelectorAll("[data-value]") ?? [];
    const narrow = new Set<Element>();
    const observer = new ResizeObserver((entries) => {
      for (const { target, contentRect } of entries)
        if (contentRect.width < VALUE_PX) narrow.add(target);
        else narrow.delete(target);
      setHasRoom(narrow.size === 0);
    });
    for (const value of values) observer.observe(value);
    setHasRoom(values.length === 0 ? true : null);
    return () => {
      observer.disconnect();
    };
  }, [area, content]);
  return hasRoom;
};

/** `content` says which values are shown. */
export const useOnScreen = (content: string): OnScreen => {
  const area = useRef<HTMLDivElement>(null);
  const room = useRef<HTMLDivElement>(null);
  const bottom = useRef<HTMLDivElement>(null);
  const hasRoom = useRoomForValues(area, content);
  const [inView, setInView] = useState<boolean | null>(null);
  useEffect(() => {
    const places = [room.current, bottom.current];
    const seen = new Map<Element | null, boolean>();
    const observer = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) seen.set(entry.target, entry.isIntersecting && entry.intersectionRatio >= SEEN);
        setInView(places.every((place) => seen.get(place) === true));
      },
      { threshold: SEEN },
    );
    for (const place of places) if (place !== null) observer.observe(place);
    return () => {
      observer.disconnect();
    };
  }, []);
  return { area, room, bottom, inView: inView === null || hasRoom === null ? null : inView && hasRoom };
};

interface AskedAreaProps {
  readonly area: Place;
  readonly room: Place;
  readonly children: ReactNode;
}

/** The place of what is asked. */
export const AskedArea = ({ area, room, children }: AskedAreaProps) => (
  <div ref={area} className="relative flex min-h-0 flex-1 flex-col overflow-clip">
    {children}
    <div
      ref={room}
      className="pointer-events-none invisible absolute inset-x-0 top-0 h-24 short:h-16"
      aria-hidden="true"
      data-place="room"
    />
  </div>
);

/** Below the action bar: where it is not in the window, neither is the bar. */
export const Bottom = ({ place }: { readonly place: Place }) => (
  <div ref={place} className="pointer-events-none -mt-2 h-2 shrink-0" aria-hidden="true" data-place="bottom" />
);

/** Why nothing can be approved though everything is done. */
export const TooSmall = ({ inView }: { readonly inView: boolean | null }) =>
  inView === false ? (
    <p role="status" className="m-0 border-t border-bad-line bg-bad-bg px-7 py-2 text-bad" data-testid="too-small">
      The request does not fit here. Make the window larger, or the zoom smaller (Ctrl -), to approve it.
    </p>
  ) : null;

/** Why a card is not armed yet, after several that were decided faster than they can be read. */
export const Slowed = ({ words }: { readonly words: string }) => (
  <p
    role="status"
    className="m-0 border-t border-warn-line bg-warn-bg px-7 py-2 text-warn-text short:px-4 short:py-1"
    data-testid="slowed"
  >
    {words}. You can approve this one after the time it takes to read.
  </p>
);
