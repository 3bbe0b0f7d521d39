import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCommand } from "../../commands/CommandContext";
import { Button } from "../../components/Button";
import { RiskBadge } from "../../components/RiskBadge";
import { ShownText } from "../../components/ShownText";
import { Region } from "../../components/Region";
import { useDesk } from "../../desk/DeskContext";
import type { MatrixCell, MatrixRow } from "../../ipc/generated";
import { Failed } from "../../components/Failed";

const LOOKS: Record<MatrixCell["outcome"], string> = { approve: "text-ok", ask: "text-warn", deny: "text-bad" };

const Cell = ({
  cell,
  workspace,
  own,
}: {
  readonly cell: MatrixCell;
  readonly workspace: string;
  readonly own: boolean;
}) => {
  const to = (id: string) => (
    <Link key={id} to="/rules" search={{ ws: workspace, id }} className="hover:underline">
      {id}
    </Link>
  );
  return (
    <td
      className={`border-l border-line-soft px-3 py-2 align-top ${own ? "bg-raised" : ""}`}
      data-outcome={cell.outcome}
    >
      <b className={`font-semibold ${LOOKS[cell.outcome]}`}>
        {cell.outcome}
        {cell.approvals > 1 ? ` ×${cell.approvals}` : ""}
      </b>
      {cell.bypass ? (
        <span className="block text-xs text-warn">bypass</span>
      ) : cell.rule === null ? null : (
        <span className="block truncate text-xs text-text-2">{to(cell.rule)}</span>
      )}
      {cell.depends.length === 0 ? null : (
        <span className="block text-xs text-text-3">
          or as{" "}
          {cell.depends.slice(0, 3).map((id, index) => (
            <span key={id}>
              {index > 0 ? ", " : ""}
              {to(id)}
            </span>
          ))}
          {cell.depends.length > 3 ? ` and ${cell.depends.length - 3} more` : ""} says
        </span>
      )}
      {cell.held === null ? null : (
        <span className="block text-xs text-warn">
          <ShownText text={cell.held} />
        </span>
      )}
    </td>
  );
};

const Line = ({
  row,
  workspace,
  risks,
}: {
  readonly row: MatrixRow;
  readonly workspace: string;
  readonly risks: readonly MatrixRow["risk"][];
}) => (
  <tr className="row-line" data-testid="matrix-row">
    <th scope="row" className="px-5 py-2 text-left align-top font-normal">
      <span className="block truncate font-mono text-[12.5px] font-semibold">
        <ShownText text={row.tool} />
      </span>
      <span className="flex items-center gap-2 text-[11.5px] text-text-3">
        {row.agent}
        {row.risk === null ? "" : <RiskBadge risk={row.risk} />}
      </span>
    </th>
    {row.cells.map((cell, index) => (
      <Cell key={risks[index]} cell={cell} workspace={workspace} own={row.risk === risks[index]} />
    ))}
  </tr>
);

/** What happens now to each tool at each risk. */
export const MatrixScreen = () => {
  const desk = useDesk();
  const navigate = useNavigate();
  const { ws } = useSearch({ from: "/rules/matrix" });
  const { data, error } = useQuery({
    queryKey: ["rules", "matrix", ws ?? null],
    queryFn: () => desk.call("matrix", { workspace: ws ?? null }),
    staleTime: 0,
    refetchInterval: 5_000,
  });
  const back = (): void => void navigate({ to: "/rules", search: ws === undefined ? {} : { ws } });
  useCommand("back", back);
  return (
    <main className="flex min-h-0 min-w-0 flex-1 flex-col" aria-label="What happens now">
      <header className="flex flex-wrap items-center gap-2.5 border-b border-line px-5 py-3">
        <h1 className="m-0 mr-1.5 text-[15px] font-semibold whitespace-nowrap">What happens now</h1>
        <span className="min-w-0 flex-1 text-text-3">
          {data === undefined ? "" : `workspace ${data.workspace}, `}by agent, tool and risk alone; the tool’s own risk
          is shaded
        </span>
        <Button className="ml-auto !py-1" tone="quiet" onClick={back}>
          Back to the rules <kbd className="kbd">Esc</kbd>
        </Button>
      </header>
      <Failed error={error} className="px-5" />
      {data === undefined ? (
        error === null ? (
          <p className="px-5 text-text-3">Reading…</p>
        ) : null
      ) : data.rows.length === 0 ? (
        <div className="grid flex-1 place-items-center px-7 text-center text-text-3" data-testid="matrix-empty">
          <p className="m-0 max-w-[460px]">
            No agent has listed its tools yet. Each tool appears here with what happens to its calls at each risk:
            approve, ask or deny.
          </p>
        </div>
      ) : (
        <Region label="What happens now" className="flex-1">
          <table className="w-full min-w-[720px] table-fixed border-collapse" data-testid="matrix">
            <thead className="sticky top-0 bg-bg">
              <tr className="row-line">
                <th scope="col" className="w-64 px-5 py-2 text-left text-[11.5px] font-semibold text-text-3">
                  Tool
                </th>
                {data.risks.map((risk) => (
                  <th
                    key={risk}
                    scope="col"
                    className="border-l border-line-soft px-3 py-2 text-left text-[11.5px] font-semibold text-text-3"
                  >
                    {risk}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.rows.map((row, index) => (
                // Tools keep their place among those of their agent.
                // oxlint-disable-next-line react/no-array-index-key
                <Line key={`${row.agent} ${index}`} row={row} workspace={data.workspace} risks={data.risks} />
              ))}
            </tbody>
          </table>
          <p className="selectable mt-3 px-5 text-xs text-text-3">
            {data.more === 0 ? "" : `${data.more} more tools are not shown. `}Rule set{" "}
            <code className="font-mono">{data.policyDigest}</code>
          </p>
        </Region>
      )}
    </main>
  );
};
