import type { ReactNode } from "react";

interface RegionProps {
  readonly label: string;
  readonly className?: string;
  readonly testId?: string;
  readonly children: ReactNode;
}

/** A list and what is chosen of it, beside each other; in a narrow window below each other, and all of it scrolls. */
export const LIST_AND_DETAIL =
  "grid min-h-0 min-w-0 flex-1 grid-rows-[minmax(0,1fr)] narrow:block narrow:overflow-auto narrow:[&>section]:h-[60vh] " +
  "narrow:[&>section]:border-b";

/**
 * Two parts beside each other where both have the width of their basis, else below each other; what is left goes to the
 * first one. No container query: WebKit counts those in zoomed pixels.
 */
export const BESIDE = "[&>*]:min-w-0 [&>*]:grow [&>*:first-child]:grow-[9999]";

/** A part of the page that scrolls: it is read by keyboard alone, too. */
export const Region = ({ label, className = "", testId, children }: RegionProps) => (
  <div
    className={`min-h-0 overflow-auto outline-offset-[-2px] ${className}`}
    role="region"
    aria-label={label}
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls takes the keyboard
    tabIndex={0}
    data-testid={testId}
  >
    {children}
  </div>
);
