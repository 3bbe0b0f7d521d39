import { Link } from "@tanstack/react-router";
import { ShownText } from "../ShownText";
import { plainText } from "../shown";
import { pastOf } from "../verdict";
import type { PreviewCase } from "../../ipc/generated";
import { Day } from "../Moment";

const what = ({ row }: PreviewCase): string => {
  if (row.verdict !== null) return pastOf(plainText(row.verdict));
  return row.state === "pending" ? "waiting" : row.state;
};

/** Calls of the past, each a way to its story. */
export const Cases = ({
  cases,
  more,
  testId,
}: {
  readonly cases: readonly PreviewCase[];
  readonly more: number;
  readonly testId: string;
}) => (
  <>
    <ul className="m-0 list-none p-0 text-[12.5px]" data-testid={testId}>
      {cases.map((found) => {
        const { row } = found;
        const refused = row.verdict !== null && /^(deny|terminate|skip)$/.test(plainText(row.verdict));
        return (
          <li key={row.key} className="row-line grid grid-cols-[minmax(0,1fr)_auto] gap-x-2.5 py-1.5">
            <Link
              to="/history/request"
              search={{ key: row.key }}
              className="min-w-0 truncate text-text hover:underline"
            >
              {row.tool === null ? row.requestId : <ShownText text={row.tool} />}{" "}
              <span className="text-text-2">{row.summary === null ? null : <ShownText text={row.summary} />}</span>
            </Link>
            <span className={refused ? "text-bad" : "text-text-3"}>
              {what(found)} <Day ms={row.decidedMs ?? row.storedMs} />
            </span>
            {row.message === null ? null : (
              <span className="col-span-2 truncate text-text-2">
                {row.by === null ? "somebody" : <ShownText text={row.by} />}: “<ShownText text={row.message} />”
              </span>
            )}
          </li>
        );
      })}
    </ul>
    {more > 0 ? <p className="mt-1 mb-0 text-xs text-text-3">and {more.toLocaleString("en")} more</p> : null}
  </>
);
