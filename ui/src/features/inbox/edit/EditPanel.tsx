import { useEffect, useState } from "react";
import { Button } from "../../../components/Button";
import { plainText } from "../../../components/shown";
import { ShownText } from "../../../components/ShownText";
import { useDesk } from "../../../desk/DeskContext";
import type { Card, EditCheck } from "../../../ipc/generated";
import { toCallError } from "../../../ipc/transport";
import type { Draft } from "../useCardActs";
import { JsonEditor } from "./JsonEditor";

interface EditPanelProps {
  readonly card: Card;
  readonly draft: Draft | null;
  readonly onDraft: (draft: Draft) => void;
  readonly onClose: () => void;
}

const NO_PROBLEMS: EditCheck["problems"] = [];

/** Edits the arguments. Nothing is sent from here: the card shows the difference first. */
export const EditPanel = ({ card, draft, onDraft, onClose }: EditPanelProps) => {
  const desk = useDesk();
  const [initial, setInitial] = useState<string | null>(draft?.json ?? null);
  const [text, setText] = useState(draft?.json ?? "");
  const [problems, setProblems] = useState(NO_PROBLEMS);
  const [trouble, setTrouble] = useState<string | null>(null);

  useEffect(() => {
    if (initial !== null) return undefined;
    let wanted = true;
    desk.call("editable", { key: card.key }).then(
      ({ json }) => {
        if (!wanted) return;
        setText(json);
        setInitial(json);
      },
      (thrown: unknown) => { if (wanted) setTrouble(toCallError(thrown).message); },
    );
    return () => { wanted = false; };
  }, [card.key, desk, initial]);

  useEffect(() => {
    if (initial === null || text === initial) return undefined;
    // Typing is checked when it pauses; what is compared is checked again.
    const timer = setTimeout(() => {
      desk.call("check_edit", { key: card.key, json: text }).then(
        (check) => { setProblems(check.problems); },
        (thrown: unknown) => { setTrouble(toCallError(thrown).message); },
      );
    }, 250);
    return () => { clearTimeout(timer); };
  }, [card.key, desk, initial, text]);

  const compare = async (): Promise<void> => {
    try {
      const check = await desk.call("check_edit", { key: card.key, json: text });
      setProblems(check.problems);
      setTrouble(check.changed ? null : "Nothing was changed. Approve without an edit, or change something.");
      if (check.problems.length === 0 && check.changed) onDraft({ json: text, check });
    } catch (thrown) {
      setTrouble(toCallError(thrown).message);
    }
  };

  return (
    <section className="flex min-h-0 flex-1 flex-col gap-3 px-7 py-[18px]" aria-label="Edit the arguments">
      <h3 className="!m-0">Edit the arguments, then compare. Hidden values keep their value while their placeholder stands.</h3>
      {initial === null ? <p className="flex-1 text-text-3">Reading the arguments…</p> : (
        <JsonEditor
          initial={initial} label="Arguments as JSON" onChange={setText} onSubmit={() => void compare()}
          problems={problems.map(({ line, path, message }) => ({ line, text: `${plainText(path)} ${plainText(message)}`.trim() }))}
        />
      )}
      <div role="alert" className="max-h-32 shrink-0 overflow-auto text-[12.5px] text-bad" data-testid="edit-problems">
        {trouble}
        {problems.map((problem, index) => (
          // Problems are drawn anew for every check.
          // oxlint-disable-next-line react/no-array-index-key
          <p key={index} className="m-0">
            {problem.line === null ? "" : `Line ${problem.line}: `}
            <code className="font-mono"><ShownText text={problem.path} /></code> <ShownText text={problem.message} />
          </p>
        ))}
      </div>
      <div className="flex gap-2.5">
        <Button onClick={() => void compare()} disabled={initial === null}>Compare <kbd className="kbd">Ctrl Enter</kbd></Button>
        <Button tone="quiet" onClick={onClose}>Back <kbd className="kbd">Esc</kbd></Button>
      </div>
    </section>
  );
};
