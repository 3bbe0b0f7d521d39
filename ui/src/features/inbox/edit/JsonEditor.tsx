import { json } from "@codemirror/lang-json";
import { CodeField, type EditorProblem } from "../../../components/code/CodeField";

interface JsonEditorProps {
  readonly initial: string;
  readonly label: string;
  readonly problems: readonly EditorProblem[];
  readonly onChange: (text: string) => void;
  readonly onSubmit: () => void;
  readonly takesFocus?: boolean;
}

const language = json();

/** JSON in an editor. */
export const JsonEditor = (props: JsonEditorProps) => <CodeField {...props} language={language} />;
