import { Day } from "../../components/Moment";
import { Section } from "../../components/Section";
import { ShownText } from "../../components/ShownText";
import { formatDuration } from "../../components/timeline/scale";
import type { PersonWeekView } from "../../ipc/generated";

const head = "pr-4 pb-1.5 text-right font-normal";
const cell = "py-1 pr-4 text-right font-mono text-xs whitespace-nowrap";
const NAMES = ["Decisions", "By command line", "Denied", "Hasty", "Median card open", "Catch rate"];

/** A share and what it is of; a dash of nothing. */
export const shareOf = (part: number, all: number): string =>
  all === 0 ? "–" : `${Math.round((100 * part) / all)} % of ${all}`;

const Week = ({ of }: { readonly of: PersonWeekView }) => (
  <tr className="row-line">
    <td className="py-1 pr-4 text-text-2 whitespace-nowrap">
      <Day ms={of.sinceMs} />
    </td>
    <th scope="row" className="py-1 pr-4 text-left font-normal">
      <ShownText text={of.name} />
      {of.own ? <span className="text-text-3"> (you)</span> : null}
    </th>
    <td className={cell}>{of.decided}</td>
    <td className={cell}>{of.byCli === 0 ? "–" : of.byCli}</td>
    <td className={cell}>{shareOf(of.denied, of.decided)}</td>
    <td className={cell}>{shareOf(of.hasty, of.inWindow)}</td>
    <td className={cell}>{of.frontMs === null ? "–" : formatDuration(of.frontMs)}</td>
    <td className={cell}>{shareOf(of.caught, of.changed)}</td>
  </tr>
);

/** How people decided in each week that the time touches, and what they saw of the changes on practice cards. */
export const People = ({ weeks }: { readonly weeks: readonly PersonWeekView[] }) => (
  <Section title="Decisions by operator and week">
    {weeks.length === 0 ? (
      <p className="m-0 text-text-3">Nobody decided in these weeks.</p>
    ) : (
      <>
        <table className="selectable w-full" data-testid="people">
          <thead className="text-left text-xs text-text-3">
            <tr>
              <th className="pb-1.5 font-normal">Week of</th>
              <th className="pb-1.5 font-normal">Operator</th>
              {NAMES.map((name) => (
                <th key={name} className={head}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {weeks.map((of) => (
              <Week key={`${of.sinceMs} ${of.key}`} of={of} />
            ))}
          </tbody>
        </table>
        <p className="mt-1.5 mb-0 text-xs text-text-3">
          Hasty: the card was open for less time than it takes to read. Only decisions in this console’s window are
          timed.
        </p>
      </>
    )}
  </Section>
);
