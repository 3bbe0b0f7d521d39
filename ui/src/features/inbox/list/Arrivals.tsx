import { useEffect, useRef, useState } from "react";
import { plainText } from "../../../components/shown";
import { useDesk, useLoaded } from "../../../desk/DeskContext";
import { formatLeft, isHot } from "../../../desk/clock";
import type { InboxRow } from "../../../ipc/generated";

/** Announcements are gathered for this long, so that a burst is one sentence. */
const GATHER_MS = 1_500;

const urgent = (row: InboxRow, now: number): boolean =>
  row.state === "pending" && (row.path !== "low" || (row.hasDeadline && isHot(row.deadlineMs - now)));

/** Announces urgent arrivals politely to a screen reader. */
export const Arrivals = ({ rows }: { readonly rows: readonly InboxRow[] }) => {
  const desk = useDesk();
  const known = useRef<ReadonlySet<string> | null>(null);
  const waiting = useRef<InboxRow[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const [said, setSaid] = useState("");
  const loaded = useLoaded();
  useEffect(() => {
    // What was there before is not an arrival.
    if (!loaded) return;
    const before = known.current;
    known.current = new Set(rows.map((row) => row.key));
    if (before === null) return;
    const now = desk.now();
    waiting.current.push(...rows.filter((row) => !before.has(row.key) && urgent(row, now)));
    // Further arrivals never put the sentence off: where they do not cease it would never be said.
    if (waiting.current.length === 0 || timer.current !== null) return;
    timer.current = setTimeout(() => {
      timer.current = null;
      const [first] = waiting.current;
      if (first === undefined) return;
      const more = waiting.current.length - 1;
      const left = first.hasDeadline ? `, ${formatLeft(first.deadlineMs - desk.now())} left` : "";
      setSaid(`New ${first.risk} request: ${plainText(first.tool)}${left}${more > 0 ? `, and ${more} more` : ""}.`);
      waiting.current = [];
    }, GATHER_MS);
  }, [desk, loaded, rows]);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
    },
    [],
  );
  return (
    <div className="sr-only" role="status" data-testid="arrivals">
      {said}
    </div>
  );
};
