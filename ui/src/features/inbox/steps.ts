/** What an approval still asks for on each of the three ways. Refuses to shorten any of them. */
import { plainText } from "../../components/shown";
import type { Card, DecidePath } from "../../ipc/generated";

/** What the operator has done on this card so far. */
export interface Progress {
  /** The end of the tool's name was on screen. */
  readonly nameRead: boolean;
  /** The end of the arguments was on screen. */
  readonly readToEnd: boolean;
  /** Everything that led here is open. */
  readonly evidenceOpen: boolean;
  /** Reveals that were opened. */
  readonly revealed: ReadonlySet<number>;
  /** The typed target. */
  readonly typed: string;
}

export const noProgress: Progress = {
  nameRead: false,
  readToEnd: false,
  evidenceOpen: false,
  revealed: new Set(),
  typed: "",
};

/** A longer name may not fit the head of the card in the smallest window. */
const NAME_FITS = 64;

export type StepId = "name" | "read" | "evidence" | "reveal" | "type";

interface Step {
  readonly id: StepId;
  readonly done: boolean;
}

export type StepFacts = Pick<Card, "path" | "reveals" | "target" | "tool">;

const unopened = (card: StepFacts, progress: Progress): number =>
  card.reveals.filter(({ reveal }) => !progress.revealed.has(reveal)).length;

/**
 * The steps of a card's way, in order. A name that does not fit is read, and hidden characters are revealed, on every
 * way.
 */
export const stepsOf = (card: StepFacts, progress: Progress): Step[] => {
  const fits = card.tool === null || plainText(card.tool.name).length <= NAME_FITS;
  const name: Step[] = fits ? [] : [{ id: "name", done: progress.nameRead }];
  const read: Step = { id: "read", done: progress.readToEnd };
  const reveals =
    card.path === "critical" ? card.reveals : card.reveals.filter(({ kind }) => kind === "hidden_characters");
  const reveal: Step[] =
    reveals.length === 0 ? [] : [{ id: "reveal", done: unopened({ ...card, reveals }, progress) === 0 }];
  switch (card.path) {
    case "low":
      return [...name, ...reveal];
    case "high":
      return [...name, read, ...reveal];
    case "critical":
      return [
        ...name,
        read,
        { id: "evidence", done: progress.evidenceOpen },
        ...reveal,
        { id: "type", done: card.target.text !== null && progress.typed === card.target.text },
      ];
  }
};

/** The first step that is missing; null when the way is walked. */
export const missingStep = (card: StepFacts, progress: Progress): StepId | null =>
  stepsOf(card, progress).find(({ done }) => !done)?.id ?? null;

/** Which key approves on a way. */
export const approveKey = (path: DecidePath, singleKeysOff: boolean): "approve" | "approvePath" =>
  path === "low" && !singleKeysOff ? "approve" : "approvePath";
