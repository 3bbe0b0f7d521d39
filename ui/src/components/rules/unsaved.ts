import { createUnsaved } from "../../desk/unsaved";

/** A changed rule that was not saved. */
export interface ChangedRule {
  readonly text: string;
  /** The version that was changed. */
  readonly seen: number;
}

/** By `WORKSPACE/ID`. */
export const changedRules = createUnsaved<ChangedRule>();
