/** What is typed to narrow a list: its words, in small letters. */
export const wordsOf = (filter: string): readonly string[] =>
  filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");

/** Whether every word occurs in the text. */
export const everyWordIn = (text: string, filter: string): boolean => {
  const small = text.toLowerCase();
  return wordsOf(filter).every((word) => small.includes(word));
};
