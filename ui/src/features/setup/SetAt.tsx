import { Moment } from "../../components/Moment";

/** When something was set, by the console of who set it. */
export const SetAt = ({ ms }: { readonly ms: number | null }) =>
  ms === null ? "at an unknown time" : <Moment ms={ms} />;
