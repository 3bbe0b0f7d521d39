import { ChevronDown } from "lucide-react";
import type { SelectHTMLAttributes } from "react";

/** A choice among a few, drawn like the rest of the desk: the arrow says that it opens. */
export const Select = ({ className = "", children, ...rest }: SelectHTMLAttributes<HTMLSelectElement>) => (
  <span className="relative inline-flex min-w-0 items-center">
    <select className={`min-w-0 appearance-none truncate rounded-md border bg-panel pr-6 pl-2 ${className}`} {...rest}>
      {children}
    </select>
    <ChevronDown size={12} className="pointer-events-none absolute right-1.5 text-text-3" aria-hidden="true" />
  </span>
);
