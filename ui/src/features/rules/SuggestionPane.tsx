import { Button } from "../../components/Button";
import { ShownText } from "../../components/ShownText";
import { RuleDesk } from "../../components/rules/RuleDesk";
import type { RuleWords, SavedRule, SuggestionView } from "../../ipc/generated";
import { Evidence } from "./SuggestionList";

interface SuggestionPaneProps {
  readonly workspace: string;
  readonly of: SuggestionView;
  readonly words: RuleWords;
  readonly onSaved: (saved: SavedRule) => void;
  readonly onDismiss: () => void;
}

/** A suggested rule in the editor, with what it rests on and what it would have done. */
export const SuggestionPane = ({ workspace, of, words, onSaved, onDismiss }: SuggestionPaneProps) => (
  <article
    className="flex min-h-0 flex-1 flex-col"
    aria-label="Suggested rule"
    data-testid="suggested-rule"
    data-id={of.id}
  >
    <header className="px-5 pt-[18px]">
      <h2 className="selectable m-0 mb-1 text-base font-semibold">
        <ShownText text={of.name} />
      </h2>
      <p className="m-0 text-text-3">
        Suggested, not saved yet. <Evidence of={of} />.
      </p>
    </header>
    <RuleDesk workspace={workspace} rule={of.rule} words={words} state={null} onSaved={onSaved}>
      <Button tone="quiet" onClick={onDismiss}>
        {of.dismissed ? "Suggest again" : "Dismiss"}
      </Button>
    </RuleDesk>
  </article>
);
