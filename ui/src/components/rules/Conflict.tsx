import { Button } from "../Button";
import type { RuleEdit } from "./useRuleEdit";

/** Somebody else changed the rule: what is in force, and what can be done with the own text. */
export const Conflict = ({ edit }: { readonly edit: RuleEdit }) => {
  const { conflict } = edit;
  if (conflict === null) return null;
  return (
    <div
      role="alert"
      className="mb-4 rounded-[7px] border border-warn-line bg-warn-bg px-3 py-2 text-warn-text"
      data-testid="conflict"
    >
      <p className="m-0">
        {conflict.conflict === null
          ? "Somebody else removed this rule meanwhile. Your text is kept; nothing was saved."
          : `Somebody else changed this rule meanwhile: version ${conflict.conflict.version} is active. ` +
            "Your text is kept; nothing was saved."}
      </p>
      {conflict.conflict === null ? null : (
        <pre className="selectable my-2 max-h-40 overflow-auto font-mono text-xs whitespace-pre-wrap">
          {conflict.conflict.text}
        </pre>
      )}
      <div className="mt-2 flex gap-2.5">
        {conflict.conflict === null ? null : <Button onClick={edit.takeTheirs}>Use theirs</Button>}
        <Button onClick={edit.keepMine}>
          {conflict.conflict === null ? "Create it again" : "Overwrite with mine"}
        </Button>
      </div>
    </div>
  );
};
