/** Rules that are changed in this window, and rules that it saved. */
import { createNews } from "../../desk/news";
import { createUnsaved } from "../../desk/unsaved";
import type { RuleText } from "../../ipc/generated";

/** A changed rule that was not saved. */
export interface ChangedRule {
  readonly text: string;
  /** The version that was changed. */
  readonly seen: number;
}

/** By `WORKSPACE/ID`. */
export const changedRules = createUnsaved<ChangedRule>();

interface OwnRule {
  /** `WORKSPACE/ID` of the editor that it was saved in. */
  readonly of: string;
  readonly rule: RuleText;
}

/** Given to the editor that is open by then, which need not be the one that saved it. */
export const savedRules = createNews<OwnRule>();
