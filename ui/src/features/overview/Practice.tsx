import { useQuery } from "@tanstack/react-query";
import { Section } from "../../components/Section";
import { ShownText } from "../../components/ShownText";
import { useDesk } from "../../desk/DeskContext";
import type { PracticePerson } from "../../ipc/generated";
import { shareOf } from "./People";

const cell = "py-1 pr-4 text-right font-mono text-xs";
const NAMES = ["Caught", "False alarms", "d′", "95 % interval"];

const Person = ({ of }: { readonly of: PracticePerson }) => {
  const changed = of.caught + of.missed;
  return (
    <tr className="row-line">
      <th scope="row" className="py-1 text-left font-normal text-text-2">
        <ShownText text={of.name} />
      </th>
      <td className={cell}>{shareOf(of.caught, changed)}</td>
      <td className={cell}>{shareOf(of.falseAlarms, of.shown - changed)}</td>
      {of.dPrime === null || of.low === null || of.high === null ? (
        <td className="py-1 pr-4 text-right text-xs text-text-3" colSpan={2}>
          too few to tell
        </td>
      ) : (
        <>
          <td className={cell}>{of.dPrime.toFixed(2)}</td>
          <td className={cell}>
            {of.low.toFixed(2)} to {of.high.toFixed(2)}
          </td>
        </>
      )}
    </tr>
  );
};

/** How many changes on practice cards each person caught, of all times. Nothing where nobody practised. */
export const Practice = () => {
  const desk = useDesk();
  const { data } = useQuery({ queryKey: ["practice"], queryFn: () => desk.call("practice", {}), staleTime: 0 });
  if (data === undefined || data.operators.length === 0) return null;
  return (
    <Section title="Practice cards, by operator">
      <table className="selectable w-full" data-testid="practice">
        <thead className="text-left text-xs text-text-3">
          <tr>
            <th className="pb-1.5 font-normal">Operator</th>
            {NAMES.map((name) => (
              <th key={name} className="pr-4 pb-1.5 text-right font-normal">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.operators.map((person) => (
            <Person key={person.key} of={person} />
          ))}
        </tbody>
      </table>
    </Section>
  );
};
