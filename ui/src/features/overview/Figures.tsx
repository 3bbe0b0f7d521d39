import type { ReactNode } from "react";
import { formatDuration } from "../../components/timeline/scale";
import type { OverviewView } from "../../ipc/generated";
import { Count } from "./Count";
import * as finds from "./finds";

const share = (part: number, all: number): ReactNode =>
  part === 0 || all === 0 ? null : (
    <>
      {" "}
      <span className="whitespace-nowrap">· {Math.round((100 * part) / all)} %</span>
    </>
  );

const Figure = ({
  label,
  tone = "",
  children,
}: {
  readonly label: string;
  readonly tone?: string;
  readonly children: ReactNode;
}) => (
  <div className="flex flex-col justify-between rounded-lg border border-line bg-panel px-3.5 py-2.5">
    <dt className="text-xs text-text-3">{label}</dt>
    <dd className={`m-0 mt-0.5 text-[17px] font-semibold ${tone}`}>{children}</dd>
  </div>
);

interface CountedProps {
  readonly label: string;
  readonly value: number;
  readonly find: finds.Find;
  /** What it is a part of; none where a share says nothing. */
  readonly of?: number;
  readonly tone?: string;
}

const Counted = ({ label, value, find, of = 0, tone = "" }: CountedProps) => (
  <Figure label={label} tone={value > 0 ? tone : ""}>
    <Count value={value} label={label} find={find} />
    {share(value, of)}
  </Figure>
);

/** The numbers of the time, in a row. */
export const Figures = ({ view }: { readonly view: OverviewView }) => {
  const arrived = view.volume.reduce((sum, piece) => sum + piece.arrived, 0);
  const decided = view.automatic + view.human;
  return (
    <dl
      className="m-0 mb-5 grid grid-cols-3 gap-2.5 narrow:grid-cols-2 min-[1100px]:grid-cols-5 min-[1400px]:grid-cols-9"
      data-testid="figures"
    >
      <Counted label="Requests" value={arrived} find={finds.arrived(view)} />
      <Counted label="Still waiting" value={view.open} find={finds.open(view)} tone="text-warn" />
      <Counted label="Decided by people" value={view.human} find={finds.human(view)} of={decided} />
      <Counted label="Decided automatically" value={view.automatic} find={finds.automatic(view)} of={decided} />
      <Counted label="Hasty decisions" value={view.hasty} find={finds.hasty(view)} of={view.inWindow} />
      <Counted label="Denied or edited by people" value={view.caught} find={finds.caught(view)} of={view.human} />
      <Figure label="By people: median card open · waiting">
        {view.frontMs === null ? "–" : formatDuration(view.frontMs)} ·{" "}
        {view.pace === null ? "–" : formatDuration(view.pace.medianMs)}
      </Figure>
      <Counted label="Expired" value={view.expired} find={finds.expired(view)} of={arrived} tone="text-warn" />
      <Counted label="Delivery overdue now" value={view.stalled} find={finds.stalled} tone="text-bad" />
    </dl>
  );
};
