import { useQuery } from "@tanstack/react-query";
import { useShownTheme } from "../../commands/theme";
import { Section } from "../../components/Section";
import { ShownText } from "../../components/ShownText";
import { plainText } from "../../components/shown";
import { formatDuration } from "../../components/timeline/scale";
import { pastOf } from "../../components/verdict";
import { Day, Moment } from "../../components/Moment";
import { formatMoment } from "../../desk/clock";
import { useDesk, useToday } from "../../desk/DeskContext";
import { createStore, useStore } from "../../desk/store";
import type { OverviewView } from "../../ipc/generated";
import { Chart, SERIES } from "./Chart";
import { Count } from "./Count";
import { Figures } from "./Figures";
import * as finds from "./finds";
import { People } from "./People";
import { Practice } from "./Practice";
import { ReaderWorth } from "./ReaderWorth";
import { weeksOf } from "./weeks";
import { Region } from "../../components/Region";
import { Failed } from "../../components/Failed";

const HOUR = 3_600_000;
const PERIODS = [
  ["1 hour", HOUR, 60],
  ["24 hours", 24 * HOUR, 96],
  ["7 days", 168 * HOUR, 84],
  ["90 days", 2_160 * HOUR, 90],
] as const;
const AGAIN_MS = 15_000;
/** The time that was chosen, by its place: a look at what a number counts must not lose it. */
const chosenPeriod = createStore(1);

const cell = "py-1 pr-4 text-right font-mono text-xs";

const Numbers = ({ view, day }: { readonly view: OverviewView; readonly day: boolean }) => {
  const today = useToday();
  const filled = view.volume.filter((piece) => piece.arrived + piece.allowed + piece.denied + piece.expired > 0);
  return (
    <details className="mt-2" data-testid="numbers">
      <summary className="rounded px-1 text-text-2">The numbers</summary>
      <div className="mt-1 max-h-64 overflow-auto">
        <table className="selectable w-full" aria-label="Requests over time">
          <thead className="sticky top-0 bg-bg text-left text-xs text-text-3">
            <tr>
              <th className="font-normal">From</th>
              {SERIES.map(([name, label]) => (
                <th key={name} className="pr-4 text-right font-normal">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {filled.map((piece) => (
              <tr key={piece.startMs} className="row-line">
                <th scope="row" className="py-1 text-left font-normal text-text-2">
                  {day ? <Day ms={piece.startMs} /> : <Moment ms={piece.startMs} />}
                </th>
                {SERIES.map(([name, label]) => (
                  <td key={name} className={cell}>
                    <Count
                      value={piece[name]}
                      label={`${label} from ${formatMoment(piece.startMs, today)}`}
                      find={finds.ofPiece(view, piece, name)}
                    />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        {filled.length === 0 ? <p className="text-text-3">No requests in this time.</p> : null}
      </div>
    </details>
  );
};

const Paces = ({ view }: { readonly view: OverviewView }) => (
  <Section title="Waiting until people decided, by agent and tool">
    {view.paces.length === 0 ? (
      <p className="m-0 text-text-3">No decisions by people in this time.</p>
    ) : (
      <table className="selectable w-full" data-testid="paces">
        <thead className="text-left text-xs text-text-3">
          <tr>
            <th className="pb-1.5 font-normal">Agent</th>
            <th className="pb-1.5 font-normal">Tool</th>
            <th className="pr-4 pb-1.5 text-right font-normal">Decided</th>
            <th className="pr-4 pb-1.5 text-right font-normal">Median</th>
            <th className="pr-4 pb-1.5 text-right font-normal">95 % within</th>
          </tr>
        </thead>
        <tbody>
          {view.paces.map((pace, index) => (
            // The most decided first; drawn anew with every reading.
            // oxlint-disable-next-line react/no-array-index-key
            <tr key={index} className="row-line">
              <td className="py-1 text-text-2">{pace.agent ?? "all others"}</td>
              <td className="py-1 font-mono text-xs">
                {pace.tool === null ? "" : <ShownText text={pace.tool.label} />}
              </td>
              <td className={cell}>
                <Count
                  value={pace.decided}
                  label={
                    `Decided by people of ${pace.agent ?? ""}, ` +
                    (pace.tool === null ? "" : plainText(pace.tool.label))
                  }
                  find={finds.ofPace(view, pace)}
                />
              </td>
              <td className={cell}>{formatDuration(pace.medianMs)}</td>
              <td className={cell}>{formatDuration(pace.p95Ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
  </Section>
);

const Verdicts = ({ view }: { readonly view: OverviewView }) => {
  const most = Math.max(...view.verdicts.map((verdict) => verdict.count), 1);
  return (
    <Section title="Verdicts">
      {view.verdicts.length === 0 ? (
        <p className="m-0 text-text-3">None yet.</p>
      ) : (
        <ul className="m-0 list-none p-0" data-testid="verdicts">
          {view.verdicts.map((verdict) => (
            <li
              key={verdict.verdict.value}
              className="grid grid-cols-[150px_minmax(0,1fr)_64px] items-center gap-3 py-1"
            >
              <span className="truncate">{pastOf(plainText(verdict.verdict.label))}</span>
              <span className="relative block h-2.5" aria-hidden="true">
                <i className="bar" style={{ left: 0, width: `${(100 * verdict.count) / most}%` }} />
              </span>
              <span className="text-right font-mono text-xs">
                <Count
                  value={verdict.count}
                  label={pastOf(plainText(verdict.verdict.label))}
                  find={finds.ofVerdict(view, verdict)}
                />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
};

/** Nothing came, was decided or waits: charts and tables would be empty. */
const isEmpty = ({ volume, automatic, human, open, people }: OverviewView): boolean =>
  automatic + human + open + people.length === 0 && volume.every((piece) => piece.arrived + piece.expired === 0);

/** Numbers and charts of a time: volume, verdicts, time to decide. */
export const OverviewScreen = () => {
  const desk = useDesk();
  const chosen = useStore(chosenPeriod);
  const theme = useShownTheme();
  const [name, length, pieces] = PERIODS[chosen] ?? PERIODS[1];
  const { data, error } = useQuery({
    queryKey: ["overview", name],
    refetchInterval: AGAIN_MS,
    staleTime: 0,
    placeholderData: (before) => before,
    queryFn: () => {
      // Not a moment later: what came after the counting would be in the history and not in the number.
      const untilMs = Math.floor(desk.now());
      const sinceMs = untilMs - length;
      const weeksMs = [...weeksOf(sinceMs, untilMs)];
      return desk.call("overview", { sinceMs, untilMs, pieces, workspace: null, weeksMs });
    },
  });
  return (
    <main className="flex min-h-0 min-w-0 flex-1 flex-col" aria-label="Overview">
      <header className="flex min-h-[52px] flex-wrap items-center gap-3 border-b border-line px-5 narrow:py-2">
        <h1 className="m-0 text-[15px] font-semibold">Overview</h1>
        <div
          className="ml-auto flex flex-wrap gap-1.5"
          role="radiogroup"
          aria-label="Time"
          tabIndex={-1}
          onKeyDown={(event) => {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (step === undefined) return;
            event.preventDefault();
            const next = (chosen + step + PERIODS.length) % PERIODS.length;
            chosenPeriod.set(next);
            event.currentTarget.querySelectorAll("button")[next]?.focus();
          }}
        >
          {PERIODS.map(([label], place) => (
            <button
              key={label}
              type="button"
              role="radio"
              aria-checked={place === chosen}
              tabIndex={place === chosen ? 0 : -1}
              className={`rounded-md border px-2.5 py-1 text-xs
                ${place === chosen ? "border-accent text-text" : "border-line text-text-2 hover:bg-raised"}`}
              onClick={() => {
                chosenPeriod.set(place);
              }}
            >
              {label}
            </button>
          ))}
        </div>
      </header>
      <Failed error={error} className="px-5" />
      {data === undefined ? (
        error === null ? (
          <div className="grid flex-1 place-items-center text-text-3">Reading…</div>
        ) : null
      ) : (
        <Region label="Numbers" className="flex-1 px-5 py-[18px]">
          <h2 className="sr-only">Numbers of the last {name}</h2>
          {isEmpty(data) ? (
            <p
              className="mt-0 mb-5 rounded-lg border border-line bg-panel px-4 py-3 text-text-2"
              data-testid="overview-empty"
            >
              No requests in the last {name}. As soon as an agent asks, this shows how many requests came, what became
              of them, and how long people took.
            </p>
          ) : (
            <>
              <Figures view={data} />
              <Section title={`Requests over the last ${name}`}>
                <div className="mb-1 flex flex-wrap gap-x-4 text-xs text-text-2" aria-hidden="true">
                  {SERIES.map(([series, label, token, dash]) => (
                    <span key={series} className="flex items-center gap-1.5">
                      <svg width="22" height="2" viewBox="0 0 22 2">
                        <line
                          x2="22"
                          y1="1"
                          y2="1"
                          stroke={`var(${token})`}
                          strokeWidth="2"
                          strokeDasharray={dash.join(" ")}
                        />
                      </svg>
                      {label}
                    </span>
                  ))}
                </div>
                <Chart volume={data.volume} theme={theme} />
                <Numbers view={data} day={length > 168 * HOUR} />
              </Section>
              <div className="flex flex-wrap gap-x-10 [&>*]:min-w-0 [&>*]:grow [&>*]:basis-[270px] [&>*:first-child]:grow-2 [&>*:first-child]:basis-[550px]">
                <Paces view={data} />
                <Verdicts view={data} />
              </div>
              <People weeks={data.people} />
            </>
          )}
          <Practice />
          <ReaderWorth />
        </Region>
      )}
    </main>
  );
};
