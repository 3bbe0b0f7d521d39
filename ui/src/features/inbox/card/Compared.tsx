import { Link } from "@tanstack/react-router";
import { Day } from "../../../components/Moment";
import { Section } from "../../../components/Section";
import { ShownText } from "../../../components/ShownText";
import { Parts } from "../../../components/Values";
import type { ArgPart, ComparedView, DiffersView } from "../../../ipc/generated";
import { DiffView } from "../edit/DiffView";

const NOTHING = new Map<number, never>();

const Value = ({ parts }: { readonly parts: readonly ArgPart[] | null }) =>
  parts === null ? (
    <span className="font-sans text-text-3 italic">absent</span>
  ) : (
    <Parts parts={parts} revealed={NOTHING} />
  );

/** Was above is, in columns of their own: differing letters come to lie under each other. */
const Line = ({ differs }: { readonly differs: DiffersView }) => (
  <div
    className="row-line grid grid-cols-[minmax(80px,130px)_minmax(0,1fr)] gap-x-3 px-3 py-[7px] last:border-0"
    data-testid="differs-at"
  >
    <dt className="min-w-0 break-words text-text-3">
      <ShownText text={differs.place} />
    </dt>
    <dd className="m-0 min-w-0">
      {differs.lines.length > 0 ? (
        <DiffView lines={differs.lines} folded />
      ) : (
        <>
          <div className="flex gap-2 text-text-2">
            <span className="w-7 shrink-0 font-sans text-[11.5px]/[19px] text-text-3">was</span>
            <span className="min-w-0" data-testid="was">
              <Value parts={differs.was} />
            </span>
          </div>
          <div className="flex gap-2">
            <span className="w-7 shrink-0 font-sans text-[11.5px]/[19px] text-text-3">is</span>
            <span className="min-w-0" data-testid="is">
              <Value parts={differs.is} />
            </span>
          </div>
        </>
      )}
    </dd>
  </div>
);

const same = (count: number): string => (count === 1 ? "1 argument is the same" : `${count} arguments are the same`);

/** In what the call differs from the nearest one that a person approved, and nothing else. */
export const Compared = ({ compared }: { readonly compared: ComparedView }) => (
  <Section
    title={
      <>
        {compared.differs.length === 0 ? "The same as " : "What differs from "}
        <Link to="/history/request" search={{ key: compared.key }} className="text-accent underline">
          the call
        </Link>{" "}
        that{" "}
        {compared.by === null ? (
          "was approved"
        ) : (
          <>
            <ShownText text={compared.by} /> approved
          </>
        )}{" "}
        on <Day ms={compared.atMs} />
      </>
    }
  >
    <div
      className="selectable overflow-hidden rounded-lg border border-line bg-panel font-mono text-[12.5px]/[1.5]"
      data-testid="compared"
    >
      {compared.differs.length === 0 ? null : (
        <dl className="m-0" aria-label="What differs">
          {compared.differs.map((differs, index) => (
            // Places keep their order.
            // oxlint-disable-next-line react/no-array-index-key
            <Line key={index} differs={differs} />
          ))}
        </dl>
      )}
      {compared.same === 0 && compared.differs.length > 0 ? null : (
        <p className="m-0 border-t border-line-soft px-3 py-[6px] font-sans text-[12px] text-text-3 first:border-0">
          {same(compared.same)}
        </p>
      )}
    </div>
  </Section>
);
