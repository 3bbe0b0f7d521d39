import type { ReactNode } from "react";

interface RegionProps {
  readonly label: string;
  readonly className?: string;
  readonly testId?: string;
  readonly children: ReactNode;
}

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
