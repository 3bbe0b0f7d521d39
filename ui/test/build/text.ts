/** Text as the core sends it. */
import type { Shown } from "../../src/ipc/generated";

/** Text in which `⟨U+202E⟩` stands for a mark, as the core would send it. */
export const shown = (text: string): Shown =>
  text
    .split(/(⟨U\+[0-9A-F]+⟩)/)
    .filter((part) => part !== "")
    .map((part) =>
      part.startsWith("⟨U+")
        ? { kind: "mark", code: part.slice(1, -1), name: "right-to-left override" }
        : { kind: "text", text: part },
    );
