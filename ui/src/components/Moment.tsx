import { formatDay, formatMoment } from "../desk/clock";
import { useToday } from "../desk/DeskContext";

interface MomentProps {
  readonly ms: number;
  /** With its milliseconds. */
  readonly exact?: boolean;
}

/** When something was: its day where that is not today, its year where that is not this one. */
export const Moment = ({ ms, exact = false }: MomentProps) => <>{formatMoment(ms, useToday(), exact)}</>;

/** On which day something was; its year where that is not this one. */
export const Day = ({ ms }: { readonly ms: number }) => <>{formatDay(ms, useToday())}</>;
