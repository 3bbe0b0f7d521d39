import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { formatPace } from "../../components/timeline/scale";
import { midnight } from "../../desk/clock";
import { useDesk, useServerNow } from "../../desk/DeskContext";
import { gather } from "../../desk/gather";

const MINUTE_MS = 60_000;
/** Decisions of a batch, and of several operators, come in one after the other. */
const GATHER_MS = 500;

/** How long cards were open today, and how long requests waited; nothing while nobody has decided anything. */
export const Today = () => {
  const desk = useDesk();
  const client = useQueryClient();
  const sinceMs = midnight(useServerNow(MINUTE_MS));
  const { data } = useQuery({
    queryKey: ["today", sinceMs],
    queryFn: () => desk.call("today", { sinceMs }),
    refetchInterval: MINUTE_MS,
    placeholderData: (before) => before,
  });
  useEffect(() => {
    const again = gather(() => client.invalidateQueries({ queryKey: ["today"] }), GATHER_MS);
    const leave = desk.onTouched((notices) => {
      if (notices.some((notice) => notice.verdict !== null)) again.tell();
    });
    return () => {
      leave();
      again.stop();
    };
  }, [client, desk]);
  if (data === undefined || data.waitingMs === null) return null;
  const many =
    data.decided >= data.newest
      ? `The newest ${data.newest.toLocaleString("en")} decisions`
      : data.decided === 1
        ? "1 decision"
        : `${data.decided.toLocaleString("en")} decisions`;
  const waiting = `median waiting ${formatPace(data.waitingMs)}`;
  return (
    <span data-testid="today" title={`${many} by people since midnight, ${waiting}`}>
      {data.frontMs === null ? `Today: ${waiting}` : `Today: median card open ${formatPace(data.frontMs)}, ${waiting}`}
    </span>
  );
};
