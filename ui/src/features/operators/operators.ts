/** What the Operators screen says of a key. Pure. */
import { plainText } from "../../components/shown";
import { everyWordIn } from "../../components/words";
import type { OperatorLine } from "../../ipc/generated";

/** One key. */
export interface Operator {
  readonly key: string;
  readonly now: OperatorLine;
}

const PLACE: Record<string, number> = { waiting: 0, in_force: 1 };
const placeOf = (one: Operator): number => PLACE[one.now.state] ?? 2;

/** The keys in the order of the list: one that waits comes first, one that has ended last. */
export const operatorsOf = (lines: readonly OperatorLine[]): readonly Operator[] =>
  lines.map((now) => ({ key: now.key, now })).toSorted((a, b) => placeOf(a) - placeOf(b));

const STATE: Record<string, string> = {
  in_force: "active",
  waiting: "pending",
  ended: "ended",
};
export const stateOf = (line: OperatorLine): string => STATE[line.state] ?? line.state;

/** What it may decide. */
export const limitsOf = (line: OperatorLine): string => {
  const parts = [
    line.workspaces === null ? null : `in ${line.workspaces.join(", ") || "no workspace"}`,
    line.maxRisk === null ? null : `up to ${line.maxRisk}`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? "everything" : parts.join(", ");
};

/** Whether an operator fits what was typed: every word must occur in the name, the key or the state. */
export const fits = ({ key, now }: Operator, filter: string): boolean =>
  everyWordIn([plainText(now.name), key, stateOf(now), now.role === "human" ? "person" : "console"].join(" "), filter);

/** `2 active, 1 pending`: of people, as a console's own key decides nothing alone. */
export const countOf = (all: readonly Operator[]): string => {
  const people = all.filter(({ now }) => now.role === "human");
  const active = people.filter(({ now }) => now.state === "in_force").length;
  const pending = people.filter(({ now }) => now.state === "waiting").length;
  return `${active} active${pending === 0 ? "" : `, ${pending} pending`}`;
};
