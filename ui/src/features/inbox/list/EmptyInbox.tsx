import { useQuery } from "@tanstack/react-query";
import { useDesk } from "../../../desk/DeskContext";
import { CopyButton } from "../../../components/CopyButton";
import { Region } from "../../../components/Region";

const AGAIN_MS = 3_000;
/** The agent that the console enrolls by itself, for trying. */
const OWN = "local";

/** How to connect an agent, with the real paths of this console. */
export const EmptyInbox = () => {
  const desk = useDesk();
  const { data } = useQuery({ queryKey: ["connect_hint"], queryFn: () => desk.call("connect_hint", {}) });
  const { data: known } = useQuery({
    queryKey: ["agents"],
    queryFn: () => desk.call("agents_list", {}),
    refetchInterval: AGAIN_MS,
  });
  const silent = (known?.agents ?? []).filter(
    ({ agent, enrolled, revokedMs, lastRequestMs }) =>
      enrolled && revokedMs === null && lastRequestMs === null && agent !== OWN,
  );
  return (
    <Region
      label="How to connect an agent"
      testId="empty"
      className="grid flex-1 grid-cols-[minmax(0,1fr)] place-items-center p-8 narrow:p-4"
    >
      <div className="w-full max-w-[720px]">
        <h2 className="mt-0 mb-1.5 text-[17px] font-semibold">Nothing is waiting</h2>
        {silent.length > 0 && (
          <p role="status" className="mt-0 mb-1.5">
            Waiting for the first call of {silent.map(({ key }) => key).join(", ")}.
          </p>
        )}
        <p className="mt-0 mb-5 text-text-2">Requests appear here as soon as an agent asks.</p>
        {data === undefined || known === undefined ? null : (
          // Whoever has agents that ask knows how to connect one.
          <details open={known.agents.every(({ lastRequestMs }) => lastRequestMs === null)}>
            <summary className="mb-3 w-fit rounded px-1 text-text-2 hover:text-text">Connect an agent</summary>
            <dl
              className={`selectable m-0 mb-5 grid grid-cols-[130px_minmax(0,1fr)] gap-x-3 gap-y-1.5 rounded-lg
              border border-line bg-panel px-4 py-3`}
            >
              <dt className="text-text-3">Bus</dt>
              <dd className="m-0 font-mono text-[12.5px] [overflow-wrap:anywhere]">{data.natsUrl}</dd>
              <dt className="text-text-3">Enrolment file</dt>
              <dd className="m-0 font-mono text-[12.5px] [overflow-wrap:anywhere]">
                {data.agentJson ?? "None on an outside server: enrol an agent with the command below."}
              </dd>
            </dl>
            {data.commands.map(({ label, command }) => (
              <div key={command} className="mb-3">
                <div className="mb-1 flex items-baseline justify-between gap-3 text-text-2">
                  {label} <CopyButton text={command} of={label} />
                </div>
                <pre
                  className={`selectable m-0 overflow-auto rounded-lg border border-line bg-panel px-4 py-2.5
                  font-mono text-[12.5px] whitespace-pre-wrap`}
                >
                  {command}
                </pre>
              </div>
            ))}
          </details>
        )}
      </div>
    </Region>
  );
};
