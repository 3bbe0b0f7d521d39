import { useQuery } from "@tanstack/react-query";
import { Section } from "../../components/Section";
import { useDesk } from "../../desk/DeskContext";
import { shareOf } from "./People";

const ENOUGH = 50;
const USEFUL = 0.2;

/** How often people denied what the second reader marked, beside the same of the console. Nothing where it marked none. */
export const ReaderWorth = () => {
  const desk = useDesk();
  const { data } = useQuery({ queryKey: ["reader"], queryFn: () => desk.call("reader", {}), staleTime: 0 });
  if (data === undefined || data.marked === 0) return null;
  const wrong = data.markedDecided >= ENOUGH && data.markedDenied / data.markedDecided < USEFUL;
  return (
    <Section title="Marks, and what people denied of them">
      <dl className="m-0 grid grid-cols-[220px_minmax(0,1fr)] gap-x-5 gap-y-1" data-testid="reader-worth">
        <dt className="text-text-2">The reader’s, a machine</dt>
        <dd className="m-0">
          {data.markedDenied} of {data.markedDecided} denied, {shareOf(data.markedDenied, data.markedDecided)}
        </dd>
        <dt className="text-text-2">The console’s own looks</dt>
        <dd className="m-0">
          {data.lookedDenied} of {data.looked} denied, {shareOf(data.lookedDenied, data.looked)}
        </dd>
      </dl>
      {wrong ? (
        <p role="note" className="mt-2 mb-0 text-warn">
          Fewer than one in five of the calls that the reader marked were denied: it is more often wrong than useful.
        </p>
      ) : null}
    </Section>
  );
};
