/** The keys of the open card. */
import { useCommand, useCovered } from "../../commands/CommandContext";
import { optionOf } from "../../hotkeys";
import { mayAnswer, mayEdit } from "./mayDo";
import type { OpenCard } from "./openCard";
import type { StepId } from "./steps";
import { useApproveKey } from "./useApproveKey";

export const useCardCommands = ({ card, acts, arming, field, ...now }: OpenCard): void => {
  const { pending, blocked, open, ready, approve, choose } = now;
  const { draft, missing, openEvidence, setDraft } = acts;
  const approveKey = useApproveKey(card.path);
  const covered = useCovered();
  const goTo = (step: StepId): void => {
    if (step === "name") document.querySelector("#name-end")?.scrollIntoView({ block: "nearest" });
    if (step === "read") document.querySelector("#arguments-end")?.scrollIntoView({ block: "end" });
    if (step === "evidence") openEvidence();
    if (step === "type") field.current?.focus();
  };

  useCommand(
    "approve",
    (press) => {
      if (ready && approveKey === "approve" && arming.accepts(press)) approve();
    },
    pending,
  );
  useCommand(
    "approvePath",
    (press) => {
      if (approveKey !== "approvePath" || !open) return;
      if (missing !== null) goTo(missing);
      else if (ready && arming.accepts(press)) approve();
    },
    pending,
  );
  useCommand(
    "deny",
    () => {
      acts.open("deny");
    },
    pending && blocked === null,
  );
  useCommand(
    "terminate",
    () => {
      acts.open("terminate");
    },
    pending && blocked === null,
  );
  useCommand(
    "edit",
    () => {
      acts.open("edit");
    },
    pending && mayEdit(card),
  );
  useCommand(
    "answer",
    () => {
      acts.open("answer");
    },
    pending && blocked === null && mayAnswer(card),
  );
  useCommand(
    "option",
    ({ stroke }) => {
      const index = stroke === undefined ? null : optionOf(stroke);
      if (index !== null && index >= (card.question?.options.length ?? 0)) return false;
      choose(index);
      acts.open("answer");
      return true;
    },
    pending && blocked === null && mayAnswer(card) && card.question !== null,
  );
  useCommand(
    "snooze",
    () => {
      acts.open("snooze");
    },
    pending,
  );
  useCommand("reveal", () => void acts.revealAll(), card.reveals.length > 0);
  useCommand("raw", () => {
    acts.open("raw");
  });
  useCommand("why", () => {
    acts.open("why");
  });
  useCommand(
    "grant",
    () => {
      acts.open("grant");
    },
    card.kind === "tool_call",
  );
  useCommand("back", () => {
    const typing = field.current !== null && document.activeElement === field.current;
    if (covered || (acts.panel === "none" && draft === null && !typing)) return false;
    if (acts.panel !== "none") acts.open("none");
    else if (!typing) setDraft(null);
    field.current?.blur();
    return true;
  });
};
