/** What the Operators screen says of a key. Pure. */
import { plainText } from "../../components/shown";
import { everyWordIn } from "../../components/words";
import type { OperatorLine } from "../../ipc/generated";

/** One key with all its terms, the newest first. */
export interface Operator {
  readonly key: string;
  readonly now: OperatorLine;
  readonly terms: readonly OperatorLine[];
}

/** The keys in the order of the list: one that waits comes first. */
export const operatorsOf = (lines: readonly OperatorLine[]): readonly Operator[] => {
  const keys = new Map<string, OperatorLine[]>();
  for (const line of lines) keys.set(line.key, [...(keys.get(line.key) ?? []), line]);
  const all = [...keys].flatMap(([key, terms]) => {
    const newest = terms.toReversed();
    return newest[0] === undefined ? [] : [{ key, now: newest[0], terms: newest }];
  });
  const waits = (one: Operator): boolean => one.now.state === "waiting";
  return [...all.filter(waits), ...all.filter((one) => !waits(one))];
};

const STATE: Record<string, string> = {
  in_force: "active",
  not_yet: "begins later",
  waiting: "pending",
  retired: "ended",
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
