import { useEffect, useRef, useState } from "react";
import { plainText } from "../../../components/shown";
import { useDesk } from "../../../desk/DeskContext";
import { formatLeft, isHot } from "../../../desk/clock";
import type { InboxRow } from "../../../ipc/generated";

/** Announcements are gathered for this long, so that a burst is one sentence. */
const GATHER_MS = 1_500;

const urgent = (row: InboxRow, now: number): boolean =>
  row.state === "pending" && (row.path !== "low" || (row.hasDeadline && isHot(row.deadlineMs - now)));

/** Tells a screen reader politely of urgent arrivals. */
export const Arrivals = ({ rows }: { readonly rows: readonly InboxRow[] }) => {
  const desk = useDesk();
  const known = useRef<ReadonlySet<string> | null>(null);
  const waiting = useRef<InboxRow[]>([]);
  const [said, setSaid] = useState("");
  useEffect(() => {
    const before = known.current;
    known.current = new Set(rows.map((row) => row.key));
    if (before === null) return undefined;
    const now = desk.now();
    waiting.current.push(...rows.filter((row) => !before.has(row.key) && urgent(row, now)));
    if (waiting.current.length === 0) return undefined;
    const timer = setTimeout(() => {
      const [first] = waiting.current;
      if (first === undefined) return;
      const more = waiting.current.length - 1;
      setSaid(`New ${first.risk} request: ${plainText(first.tool)}, ${formatLeft(first.deadlineMs - desk.now())} left${more > 0 ? `, and ${more} more` : ""}.`);
      waiting.current = [];
    }, GATHER_MS);
    return () => { clearTimeout(timer); };
  }, [desk, rows]);
  return <div className="sr-only" role="status" aria-live="polite">{said}</div>;
};
