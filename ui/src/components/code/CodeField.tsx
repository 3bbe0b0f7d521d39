import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { getNonce } from "get-nonce";
import { useEffect, useRef } from "react";
import { colours, look, unseen } from "./look";

export interface EditorProblem {
  /** From 1; none where the place is unknown. */
  readonly line: number | null;
  /** From 1; the whole line without one. */
  readonly column?: number;
  readonly text: string;
}

interface CodeFieldProps {
  readonly initial: string;
  /** Another one begins the text anew, also where `initial` is what it was. */
  readonly round?: number;
  readonly label: string;
  readonly problems: readonly EditorProblem[];
  /** What the language brings; the same value for as long as the field lives. */
  readonly language: Extension;
  readonly onChange: (text: string) => void;
  readonly onSubmit: () => void;
  readonly takesFocus?: boolean;
  readonly className?: string;
}

const toDiagnostics = (view: EditorView, problems: readonly EditorProblem[]): Diagnostic[] =>
  problems.map(({ line, column, text }) => {
    const { from, to } = view.state.doc.line(Math.min(Math.max(line ?? 1, 1), view.state.doc.lines));
    return { from: Math.min(from + (column ?? 1) - 1, to), to, severity: "error", message: text };
  });

/** Text in an editor. It comes as pure ASCII; the field is the only place that is not text nodes. */
export const CodeField = ({
  initial,
  round = 0,
  label,
  problems,
  language,
  onChange,
  onSubmit,
  takesFocus = true,
  className = "min-h-0 flex-1",
}: CodeFieldProps) => {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const calls = useRef({ onChange, onSubmit });
  useEffect(() => {
    calls.current = { onChange, onSubmit };
  });
  /** What is typed next, where the text begins anew under the hands that type, would be commands. */
  const hadFocus = useRef(false);

  useEffect(() => {
    if (host.current === null) return undefined;
    // The content policy takes the editor's style element by the page's nonce only.
    const nonce = getNonce();
    const submit = {
      key: "Mod-Enter",
      run: () => {
        calls.current.onSubmit();
        return true;
      },
    };
    const view = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: initial,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          language,
          syntaxHighlighting(colours),
          unseen,
          nonce === undefined ? [] : EditorView.cspNonce.of(nonce),
          lintGutter(),
          look,
          EditorView.lineWrapping,
          // What scrolls is reached by Tab, also by programs that do not count an editable text as such.
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          // Tab leaves the field as it leaves any other.
          keymap.of([submit, ...defaultKeymap, ...historyKeymap]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) calls.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    editor.current = view;
    if (takesFocus || hadFocus.current) view.focus();
    return () => {
      hadFocus.current = document.activeElement === view.contentDOM;
      view.destroy();
      editor.current = null;
    };
  }, [initial, label, language, round, takesFocus]);

  useEffect(() => {
    const view = editor.current;
    if (view !== null) view.dispatch(setDiagnostics(view.state, toDiagnostics(view, problems)));
  }, [initial, problems, round]);

  return <div ref={host} className={`overflow-hidden rounded-lg border border-line ${className}`} />;
};
