/** Cards that were decided faster than they can be read, one after the other. Pure. */
import type { Card } from "../../ipc/generated";

/** A decision of this window. */
export interface Look {
  /** Calls of one agent and tool with the same arguments are one card. */
  readonly id: string;
  readonly frontMs: number;
  readonly readMs: number;
  /** When it was decided. */
  readonly atMs: number;
}

/** So many unlike cards in a row slow the next one down. */
const IN_A_ROW = 5;

export const lookOf = (
  card: Pick<Card, "key" | "workspace" | "agent" | "tool" | "origin" | "readMs">,
  frontMs: number,
  atMs: number,
): Look => ({
  id: JSON.stringify([card.workspace, card.agent, card.tool?.name ?? card.key, card.origin.argsDigest]),
  frontMs,
  readMs: card.readMs,
  atMs,
});

const isHasty = ({ frontMs, readMs }: Look): boolean => frontMs < readMs;

/** Hasty decisions up to now; one that was not ends them. */
export const noted = (looks: readonly Look[], look: Look): readonly Look[] =>
  isHasty(look) ? [...looks.filter(({ id }) => id !== look.id), look].slice(-IN_A_ROW) : [];

/** What is said of too many in a row; null where they are few. */
export const wordsOf = (looks: readonly Look[]): string | null => {
  const [first] = looks;
  const last = looks.at(-1);
  if (first === undefined || last === undefined || looks.length < IN_A_ROW) return null;
  const seconds = Math.max(Math.round((last.atMs - first.atMs + first.frontMs) / 1_000), 1);
  return `You decided ${looks.length} cards in ${seconds} s`;
};
