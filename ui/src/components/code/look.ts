/** How code looks in every editor, and what a person must not overlook in it. */
import { HighlightStyle } from "@codemirror/language";
import { EditorView, highlightSpecialChars } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** Characters that a person could paste and not see; the editor draws their code points. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}]|(?! )\p{Zs}/gu;

export const look = EditorView.theme({
  "&": {
    height: "100%",
    minHeight: "inherit",
    backgroundColor: "var(--panel)",
    color: "var(--text)",
    fontSize: "12.5px",
  },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--text)", userSelect: "text" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--text-3)", borderRight: "1px solid var(--line)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 35%, transparent)",
  },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-specialChar": { color: "var(--crit)", backgroundColor: "var(--bad-bg)", borderRadius: "3px", padding: "0 4px" },
  // The usual mark is an image in a data: address, which the content policy keeps out.
  ".cm-lint-marker": {
    content: "none",
    width: "8px",
    height: "8px",
    marginTop: "6px",
    borderRadius: "50%",
    backgroundColor: "var(--bad)",
  },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--accent-ink)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--text) 14%, transparent)" },
  // The other half may only be far away: the checker shows what is wrong.
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "transparent" },
  ".cm-completionDetail": { color: "var(--text-3)", fontStyle: "normal" },
});

export const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--text-2)" },
  { tag: [tags.string, tags.number, tags.bool, tags.null, tags.atom], color: "var(--text)" },
  { tag: tags.comment, color: "var(--text-3)" },
]);

/** Every unseen character by its number. */
export const unseen = highlightSpecialChars({
  specialChars: UNSEEN,
  render: (code) => {
    const mark = document.createElement("span");
    mark.className = "cm-specialChar";
    mark.textContent = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    return mark;
  },
});
