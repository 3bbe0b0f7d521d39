/** Which rows a filter shows. Every word must occur; `agent:`, `tool:` and `risk:` narrow a word. */
import { plainText } from "../../components/shown";
import { wordsOf } from "../../components/words";
import type { InboxRow } from "../../ipc/generated";

const FIELDS = ["agent", "tool", "risk", "workspace"] as const;
type Field = (typeof FIELDS)[number];

interface Word {
  readonly field: Field | null;
  readonly text: string;
}

const fieldOf = (word: string): Field | null => FIELDS.find((field) => word.startsWith(`${field}:`)) ?? null;

const parseFilter = (filter: string): Word[] =>
  wordsOf(filter).map((word) => {
    const field = fieldOf(word);
    return { field, text: field === null ? word : word.slice(field.length + 1) };
  });

const textOf = (row: InboxRow, field: Field | null): string => {
  switch (field) {
    case "agent":
      return row.agent;
    case "tool":
      return plainText(row.tool);
    case "risk":
      return row.risk;
    case "workspace":
      return row.workspace;
    case null:
      return [
        row.agent,
        row.workspace,
        row.risk,
        row.key,
        ...[row.tool, row.effect, row.summary, row.says, row.thread, row.run].map((text) =>
          text === null ? "" : plainText(text),
        ),
      ].join("\n");
  }
};

export const filterRows = (rows: readonly InboxRow[], filter: string): readonly InboxRow[] => {
  const words = parseFilter(filter);
  if (words.length === 0) return rows;
  return rows.filter((row) => words.every(({ field, text }) => textOf(row, field).toLowerCase().includes(text)));
};
