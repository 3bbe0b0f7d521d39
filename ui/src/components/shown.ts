/** Escaped agent text. The escaping itself happens in Rust, once; nothing here undoes it. */
import type { Shown } from "../ipc/generated";

/** The text as it is drawn, marks included: for filters, titles and names of rows. */
export const plainText = (shown: Shown): string =>
  shown.map((segment) => (segment.kind === "text" ? segment.text : `⟨${segment.code}⟩`)).join("");

/** Whether it holds a character that cannot be seen. */
export const hasMarks = (shown: Shown): boolean => shown.some((segment) => segment.kind === "mark");
