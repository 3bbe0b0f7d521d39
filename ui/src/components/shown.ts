/** Escaped agent text. The escaping itself happens in Rust, once; nothing here undoes it. */
import type { Shown } from "../ipc/generated";

/** The text as it is drawn, marks included: for filters, titles and names of rows. */
export const plainText = (shown: Shown): string =>
  shown.segments.map((segment) => (segment.type === "text" ? segment.text : `⟨${segment.code_point}⟩`)).join("");
