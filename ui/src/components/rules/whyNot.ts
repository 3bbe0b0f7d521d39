/** Why nothing was changed, for whoever has left the place that would have asked once more. */
import type { DeniedCalls, RuleState, SavedRule, WaitingCalls } from "../../ipc/generated";

export const whyDenied = ({ count }: DeniedCalls): string =>
  count === null
    ? "Nothing was changed: the check for calls that people denied took too long."
    : `Nothing was changed: it would allow ` +
      `${count === 1 ? "a call" : `${count.toLocaleString("en")} calls`} that people denied.`;

export const whyWaiting = ({ keys }: WaitingCalls): string =>
  `Nothing was changed: it would approve ` +
  `${keys.length === 1 ? "a call that is" : `${keys.length.toLocaleString("en")} calls that are`} still waiting.`;

export const whyConflict = ({ conflict }: SavedRule): string =>
  `Nothing was changed: somebody else ${conflict === null ? "removed" : "changed"} it meanwhile.`;

export const whySteps = (key: string): string =>
  `Nothing was changed: it would approve critical or irreversible calls like ${key}, which takes the steps of one.`;

/** What saving was for. */
export const questionOf = (id: string, state: RuleState | null): string => {
  const rule = id === "" ? "the new rule" : `the rule ${id}`;
  if (state === "shadow") return `Run ${rule} in shadow?`;
  return `${state === null ? "Save" : state === "on" ? "Enable" : "Turn off"} ${rule}?`;
};
