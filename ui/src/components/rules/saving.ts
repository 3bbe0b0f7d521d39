/** What this window saves: its editor may be left, and another one of the same rule be open, when the answer comes. */
import { createNews } from "../../desk/news";
import { createUnsaved } from "../../desk/unsaved";
import type { RuleText } from "../../ipc/generated";

/** By `WORKSPACE/ID`, from the saving to its answer. */
export const savingRules = createUnsaved<true>();

interface OwnRule {
  /** `WORKSPACE/ID` of the editor that it was saved in. */
  readonly of: string;
  readonly rule: RuleText;
}

export const savedRules = createNews<OwnRule>();
