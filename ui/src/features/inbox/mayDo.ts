/** What the agent takes from here: which verdicts a card can be given. */
import type { Card } from "../../ipc/generated";

export const mayEdit = (card: Card): boolean => card.args !== null && card.allowed.includes("modify");
export const mayAnswer = (card: Card): boolean => card.allowed.includes("respond");
export const mayApproveCard = (card: Card, edited: boolean): boolean =>
  card.allowed.includes(edited ? "modify" : "approve");
/** Whether a finding asks for the high way, whatever risk was claimed. */
export const stops = ({ findings }: Pick<Card, "findings">): boolean =>
  findings.some(({ weight }) => weight === "stop");
