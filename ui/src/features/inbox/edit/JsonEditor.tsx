import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { getNonce } from "get-nonce";
import { useEffect, useRef } from "react";

/** Characters that a person could paste and not see; the editor draws their code points. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}]|(?! )\p{Zs}/gu;

const look = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--panel)", color: "var(--text)", fontSize: "12.5px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--text)", userSelect: "text" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--text-3)", borderRight: "1px solid var(--line)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 35%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-specialChar": { color: "var(--crit)", backgroundColor: "var(--bad-bg)", borderRadius: "3px", padding: "0 4px" },
});
const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--text-2)" },
  { tag: [tags.string, tags.number, tags.bool, tags.null], color: "var(--text)" },
]);

export interface EditorProblem {
  readonly line: number | null;
  readonly text: string;
}

interface JsonEditorProps {
  readonly initial: string;
  readonly label: string;
  readonly problems: readonly EditorProblem[];
  readonly onChange: (text: string) => void;
  readonly onSubmit: () => void;
}

const toDiagnostics = (view: EditorView, problems: readonly EditorProblem[]): Diagnostic[] =>
  problems.map(({ line, text }) => {
    const { from, to } = view.state.doc.line(Math.min(Math.max(line ?? 1, 1), view.state.doc.lines));
    return { from, to, severity: "error", message: text };
  });

/** JSON in an editor. The text comes as pure ASCII; the field is the only place that is not text nodes. */
export const JsonEditor = ({ initial, label, problems, onChange, onSubmit }: JsonEditorProps) => {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const calls = useRef({ onChange, onSubmit });
  useEffect(() => { calls.current = { onChange, onSubmit }; });

  useEffect(() => {
    if (host.current === null) return undefined;
    // The content policy takes the editor's style element by the page's nonce only.
    const nonce = getNonce();
    const submit = { key: "Mod-Enter", run: () => { calls.current.onSubmit(); return true; } };
    const view = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: initial,
        extensions: [
          lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), json(), syntaxHighlighting(colours),
          highlightSpecialChars({
            specialChars: UNSEEN,
            render: (code) => {
              const mark = document.createElement("span");
              mark.className = "cm-specialChar";
              mark.textContent = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
              return mark;
            },
          }),
          nonce === undefined ? [] : EditorView.cspNonce.of(nonce), lintGutter(), look, EditorView.lineWrapping, EditorView.contentAttributes.of({ "aria-label": label }),
          keymap.of([submit, indentWithTab, ...defaultKeymap, ...historyKeymap]),
          EditorView.updateListener.of((update) => { if (update.docChanged) calls.current.onChange(update.state.doc.toString()); }),
        ],
      }),
    });
    editor.current = view;
    view.focus();
    return () => {
      view.destroy();
      editor.current = null;
    };
  }, [initial, label]);

  useEffect(() => {
    const view = editor.current;
    if (view !== null) view.dispatch(setDiagnostics(view.state, toDiagnostics(view, problems)));
  }, [problems]);

  return <div ref={host} className="min-h-0 flex-1 overflow-hidden rounded-lg border border-line" />;
};
