import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Bar } from "../../../components/timeline/Bar";
import { isTrouble, outcomeOf, standingOf } from "../../../components/timeline/looks";
import { Kbd } from "../../../components/Kbd";
import { Section } from "../../../components/Section";
import { ShownText } from "../../../components/ShownText";
import { Unread } from "../../../components/Unread";
import { useDesk } from "../../../desk/DeskContext";

const TITLE = "Steps before this call (reported by the agent)";
const FIRST_MS = 1_000;
const AGAIN_MS = 5_000;

/** The trace until this request was asked; nothing where the agent sent no spans. */
export const LedHere = ({ request }: { readonly request: string }) => {
  const desk = useDesk();
  const navigate = useNavigate();
  // Spans travel on a stream of their own and may come after the request.
  const { data, error } = useQuery({
    queryKey: ["led", request],
    queryFn: () => desk.call("led_here", { key: request }),
    refetchInterval: ({ state }) => ((state.data?.lines.length ?? 0) > 1 ? AGAIN_MS : FIRST_MS),
  });
  // The request alone adds nothing to the card.
  if (data === undefined || data.lines.length < 2)
    return error === null ? null : (
      <Section title={TITLE}>
        <Unread error={error} />
      </Section>
    );
  const view = { from: data.fromMs, to: Math.max(data.toMs, data.fromMs + 1) };
  return (
    <Section title={TITLE}>
      <Unread error={error} />
      <div className="font-mono text-xs" data-testid="led-here">
        {data.earlier > 0 ? (
          <p className="mt-0 mb-1 font-sans text-text-3">
            {data.earlier === 1 ? "1 earlier step is" : `${data.earlier} earlier steps are`} in the whole trace
          </p>
        ) : null}
        <ol className="m-0 list-none p-0">
          {data.lines.map((line, index) => (
            // Steps keep their order.
            <li
              // oxlint-disable-next-line react/no-array-index-key
              key={index}
              className={`grid h-[25px] grid-cols-[minmax(110px,190px)_minmax(0,1fr)_76px] items-center gap-x-3
                ${line.request === request ? "text-text" : "text-text-2"}`}
            >
              <span className="truncate">
                <ShownText text={line.name} />
              </span>
              <Bar line={line} view={view} untilMs={data.toMs} />
              <span className={`truncate text-right ${isTrouble(line.look) ? "text-bad" : ""}`}>
                {outcomeOf(line)}
                <span className="sr-only">, {standingOf(line)}</span>
              </span>
            </li>
          ))}
        </ol>
        <button
          type="button"
          className="mt-1 rounded border border-line px-2 py-1 font-sans text-xs text-text-2 hover:bg-raised"
          onClick={() => void navigate({ to: "/traces/tree", search: { key: request, card: request } })}
        >
          The whole trace <Kbd command="trace" />
        </button>
      </div>
    </Section>
  );
};
