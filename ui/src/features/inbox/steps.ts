/** What an approval still asks for on each of the three ways. Refuses to shorten any of them. */
import type { Card, DecidePath } from "../../ipc/generated";

/** What the operator has done on this card so far. */
export interface Progress {
  /** The end of the arguments was on screen. */
  readonly readToEnd: boolean;
  /** Everything that led here is open. */
  readonly evidenceOpen: boolean;
  /** Reveals that were opened. */
  readonly revealed: ReadonlySet<number>;
  /** The typed target. */
  readonly typed: string;
}

export const noProgress: Progress = { readToEnd: false, evidenceOpen: false, revealed: new Set(), typed: "" };

export type StepId = "read" | "evidence" | "reveal" | "type";

export interface Step {
  readonly id: StepId;
  readonly done: boolean;
}

export type StepFacts = Pick<Card, "path" | "reveals" | "target">;

const unopened = (card: StepFacts, progress: Progress): number =>
  card.reveals.filter(({ reveal }) => !progress.revealed.has(reveal)).length;

/** The steps of a card's way, in order. Hidden characters are revealed on every way. */
export const stepsOf = (card: StepFacts, progress: Progress): Step[] => {
  const read: Step = { id: "read", done: progress.readToEnd };
  const reveals = card.path === "critical" ? card.reveals : card.reveals.filter(({ kind }) => kind === "hidden_characters");
  const reveal: Step[] = reveals.length === 0 ? [] : [{ id: "reveal", done: unopened({ ...card, reveals }, progress) === 0 }];
  switch (card.path) {
    case "low":
      return reveal;
    case "high":
      return [read, ...reveal];
    case "critical":
      return [
        read,
        { id: "evidence", done: progress.evidenceOpen },
        ...reveal,
        { id: "type", done: card.target !== null && progress.typed === card.target },
      ];
  }
};

/** The first step that is missing; null when the way is walked. */
export const missingStep = (card: StepFacts, progress: Progress): StepId | null =>
  stepsOf(card, progress).find(({ done }) => !done)?.id ?? null;

/** Which key approves on a way. */
export const approveKey = (path: DecidePath): "approve" | "approvePath" => (path === "low" ? "approve" : "approvePath");
