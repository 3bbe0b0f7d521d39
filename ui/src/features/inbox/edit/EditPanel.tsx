import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Button } from "../../../components/Button";
import { plainText } from "../../../components/shown";
import { ShownText } from "../../../components/ShownText";
import { useHere } from "../../../components/useHere";
import { useDesk } from "../../../desk/DeskContext";
import type { EditCheck } from "../../../ipc/generated";
import { toCallError } from "../../../ipc/transport";
import { useCard } from "../openCard";
import { JsonEditor } from "./JsonEditor";

const NO_PROBLEMS: EditCheck["problems"] = [];

/** Edits the arguments. Nothing is sent from here: the card shows the difference first. */
export const EditPanel = () => {
  const { card, acts, close } = useCard();
  const { draft, kept, keep, setDraft } = acts;
  const desk = useDesk();
  const [initial, setInitial] = useState<string | null>(kept ?? draft?.json ?? null);
  const [text, write] = useState(initial ?? "");
  const latest = useRef(text);
  const setText = useCallback((next: string) => {
    latest.current = next;
    write(next);
  }, []);
  const [trouble, setTrouble] = useState<string | null>(null);
  const typed = useCallback(
    (next: string) => {
      setText(next);
      keep(next);
      // It was said of another text.
      setTrouble(null);
    },
    [keep, setText],
  );
  const here = useHere();
  const asked = useRef(0);
  const [problems, setProblems] = useState(NO_PROBLEMS);

  useEffect(() => {
    if (initial !== null) return undefined;
    let wanted = true;
    desk.call("editable", { key: card.key }).then(
      ({ json }) => {
        if (!wanted) return;
        setText(json);
        setInitial(json);
      },
      (thrown: unknown) => {
        if (wanted) setTrouble(toCallError(thrown).message);
      },
    );
    return () => {
      wanted = false;
    };
  }, [card.key, desk, initial, setText]);

  /** What the core says of the text; null where it says nothing, or nothing that still counts. */
  const check = useCallback(
    async (json: string): Promise<EditCheck | null> => {
      asked.current += 1;
      const number = asked.current;
      // Only the answer to what was asked last, of the current text, and none once the panel is left.
      const counts = (): boolean => here.current && number === asked.current && json === latest.current;
      try {
        const found = await desk.call("check_edit", { key: card.key, json });
        if (!counts()) return null;
        setProblems(found.problems);
        return found;
      } catch (thrown) {
        if (counts()) setTrouble(toCallError(thrown).message);
        return null;
      }
    },
    [card.key, desk, here],
  );

  const comparing = useRef(false);
  useEffect(() => {
    if (initial === null || text === initial) {
      setProblems(NO_PROBLEMS);
      return undefined;
    }
    // Typing is checked when it pauses; what is compared is checked again.
    const timer = setTimeout(() => {
      if (!comparing.current) void check(text);
    }, 250);
    return () => {
      clearTimeout(timer);
    };
  }, [check, initial, text]);

  const compare = async (): Promise<void> => {
    if (comparing.current) return;
    comparing.current = true;
    try {
      for (;;) {
        const json = latest.current;
        // oxlint-disable-next-line no-await-in-loop -- what was typed meanwhile is compared, too
        const found = await check(json);
        if (here.current && json !== latest.current) continue;
        if (found === null) return;
        setTrouble(found.changed ? null : "Nothing was changed. Approve without an edit, or change something.");
        if (found.problems.length > 0 || !found.changed) return;
        setDraft({ json, check: found });
        close();
        return;
      }
    } finally {
      comparing.current = false;
    }
  };

  const marks = useMemo(
    () =>
      problems.map(({ line, path, message }) => ({ line, text: `${plainText(path)} ${plainText(message)}`.trim() })),
    [problems],
  );

  return (
    <section className="flex min-h-0 flex-1 flex-col gap-3 px-7 py-[18px]" aria-label="Edit the arguments">
      <h3 className="!m-0">
        Edit, then compare.
        {card.args?.some(({ value }) => value.some(({ type }) => type !== "text")) === true
          ? " Leave a placeholder to keep the hidden value."
          : ""}
      </h3>
      {initial === null ? (
        <p className="flex-1 text-text-3">Reading the arguments…</p>
      ) : (
        <JsonEditor
          initial={initial}
          label="Arguments as JSON"
          onChange={typed}
          onSubmit={() => void compare()}
          problems={marks}
        />
      )}
      <div role="alert" className="max-h-32 shrink-0 overflow-auto text-[12.5px] text-bad" data-testid="edit-problems">
        {trouble}
        {problems.map((problem, index) => (
          // Problems are drawn anew for every check.
          // oxlint-disable-next-line react/no-array-index-key
          <p key={index} className="m-0">
            {problem.line === null ? "" : `Line ${problem.line}: `}
            <code className="font-mono">
              <ShownText text={problem.path} />
            </code>{" "}
            <ShownText text={problem.message} />
          </p>
        ))}
      </div>
      <div className="flex gap-2.5">
        <Button onClick={() => void compare()} disabled={initial === null}>
          Compare <kbd className="kbd">Ctrl Enter</kbd>
        </Button>
        <Button tone="quiet" onClick={close}>
          Back <kbd className="kbd">Esc</kbd>
        </Button>
      </div>
    </section>
  );
};
