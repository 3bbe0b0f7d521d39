/** What the console says of a rule's text, asked when typing pauses. */
import { useEffect, useState } from "react";
import { useDesk } from "../../desk/DeskContext";
import type { RuleCheck } from "../../ipc/generated";
import { toCallError } from "../../ipc/transport";

const PAUSE_MS = 250;

export interface CheckedRule {
  /** None while no text was checked. */
  readonly check: RuleCheck | null;
  /** The text that was checked. */
  readonly checked: string | null;
  /** Why the text could not be checked. */
  readonly unchecked: string | null;
}

const NOTHING: CheckedRule = { check: null, checked: null, unchecked: null };

/** `begun` is what nobody has typed at yet: it is checked at once. */
export const useRuleCheck = (text: string, begun: string): CheckedRule => {
  const desk = useDesk();
  const [found, setFound] = useState(NOTHING);
  useEffect(() => {
    let wanted = true;
    const timer = setTimeout(
      () => {
        desk.call("check_rule", { text }).then(
          (check) => {
            if (wanted) setFound({ check, checked: text, unchecked: null });
          },
          (thrown: unknown) => {
            if (wanted) setFound((before) => ({ ...before, unchecked: toCallError(thrown).message }));
          },
        );
      },
      text === begun ? 0 : PAUSE_MS,
    );
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [begun, desk, text]);
  return found;
};
