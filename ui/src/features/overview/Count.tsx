import { Link } from "@tanstack/react-router";
import type { Find } from "./finds";

interface CountProps {
  readonly value: number;
  /** What it counts, for who cannot see its place. */
  readonly label: string;
  /** Which requests it counts; null where no filter finds exactly those. */
  readonly find: Find | null;
}

/** A number that counts requests: it opens them in the history. None leads nowhere. */
export const Count = ({ value, label, find }: CountProps) => {
  const text = value.toLocaleString("en");
  if (value === 0 || find === null) return <>{text}</>;
  return (
    <Link
      to="/history"
      search={{ find }}
      aria-label={`${label}: ${text}, show them in the history`}
      className={`rounded-sm underline decoration-text-3 decoration-dotted decoration-1 underline-offset-4
        hover:text-accent hover:decoration-accent hover:decoration-solid`}
    >
      {text}
    </Link>
  );
};
