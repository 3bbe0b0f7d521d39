/** What distinguishes calls on one line: their arguments, without those that are the same in all of them. Pure. */
import type { ArgEntry, Card, Segment, Shown } from "../../ipc/generated";

/** Characters of the line; the card shows everything. */
const LINE = 160;

const text = (words: string): Segment => ({ kind: "text", text: words });

const segmentsOf = ({ name, value }: ArgEntry): Segment[] => [
  ...(name === null ? [] : [...name, text(": ")]),
  ...value.flatMap((part) => (part.type === "text" ? part.text : [text("hidden")])),
];

const cut = (segments: readonly Segment[]): Shown => {
  let left = LINE;
  const line: Segment[] = [];
  for (const segment of segments) {
    const length = segment.kind === "text" ? segment.text.length : segment.code.length;
    if (segment.kind === "text" && length > left) {
      // Never half of a character.
      line.push(
        text(
          `${Array.from(segment.text.slice(0, left + 1))
            .slice(0, -1)
            .join("")}…`,
        ),
      );
      break;
    }
    line.push(segment);
    left -= length;
    if (left <= 0) break;
  }
  return line;
};

/** The line of each card, by its key; of one alone all its arguments. */
export const differing = (cards: readonly Pick<Card, "key" | "args">[]): ReadonlyMap<string, Shown> => {
  const seen = new Map<string, number>();
  const entries = cards.map(({ key, args }) => ({
    key,
    args: (args ?? []).map((entry) => ({ entry, id: JSON.stringify([entry.name, entry.value]) })),
  }));
  for (const { args } of entries) for (const { id } of args) seen.set(id, (seen.get(id) ?? 0) + 1);
  const lines = new Map<string, Shown>();
  for (const { key, args } of entries) {
    const own = cards.length === 1 ? args : args.filter(({ id }) => seen.get(id) !== cards.length);
    lines.set(key, cut(own.flatMap(({ entry }, place) => [text(place === 0 ? "" : ", ")].concat(segmentsOf(entry)))));
  }
  return lines;
};
