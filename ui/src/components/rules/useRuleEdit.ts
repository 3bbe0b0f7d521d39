/** One rule while it is edited: its text, what is wrong with it, and what became of saving it. */
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { useDesk } from "../../desk/DeskContext";
import type {
  DeniedCalls,
  RuleCheck,
  RuleState,
  RuleText,
  SavedRule,
  StepsDone,
  WaitingCalls,
} from "../../ipc/generated";
import { toCallError } from "../../ipc/transport";
import { useEdit, type Answer } from "../useEdit";
import { changedRules, savedRules, type ChangedRule } from "./unsaved";
import { useRuleCheck } from "./useRuleCheck";
import { questionOf, whyConflict, whyDenied, whySteps, whyWaiting } from "./whyNot";

/** What the operator has read and wants all the same. */
export interface Accepted {
  /** Asked twice before a rule approves. */
  readonly sure?: boolean;
  /** What changes for other rules. */
  readonly limits?: boolean;
  /** Calls that people denied and that would run. */
  readonly denied?: boolean;
  /** Waiting calls that it approves at once. */
  readonly waiting?: readonly string[];
  /** What was done on a critical or irreversible call of its kind. */
  readonly steps?: StepsDone;
}

/** A saving that was not made: why, and how it was tried. */
export type Held = { readonly state: RuleState | null; readonly accepted: Accepted } & (
  | { readonly why: "limits"; readonly message: string }
  | { readonly why: "denied"; readonly calls: DeniedCalls }
  | { readonly why: "waiting"; readonly calls: WaitingCalls }
  | { readonly why: "unproven" }
  | { readonly why: "steps"; readonly key: string }
);

export interface RuleEdit {
  /** What the editor began with. */
  readonly initial: string;
  /** Counted up when the editor should begin anew. */
  readonly round: number;
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly edited: boolean;
  /** What is typed outlives a look elsewhere. */
  readonly isKept: boolean;
  /** None while the text was not checked. */
  readonly check: RuleCheck | null;
  readonly checked: string | null;
  readonly busy: boolean;
  readonly trouble: string | null;
  /** What replaced the version that was seen; nothing was saved. */
  readonly conflict: SavedRule | null;
  /** What the operator is asked about before it is saved. */
  readonly held: Held | null;
  /** Asks no more about this one; another one that came meanwhile stays. */
  readonly letGo: (of: Held) => void;
  /** Saves; null when it did not. */
  readonly save: (state: RuleState | null, accepted?: Accepted) => Promise<SavedRule | null>;
  /** Takes what somebody else wrote and drops the own text. */
  readonly takeTheirs: () => void;
  /** Keeps the own text: the next saving puts it over theirs. */
  readonly keepMine: () => void;
  readonly revert: () => void;
}

const notSaved = (id: string, conflict: RuleText | null): SavedRule => ({
  id,
  version: null,
  conflict,
  gone: conflict === null,
  denied: null,
  waiting: null,
});

/**
 * Edits one rule: its text outlives a look elsewhere, is checked when typing pauses, and is saved on the version that
 * was seen.
 */
export const useRuleEdit = (workspace: string, given: RuleText, gone = false): RuleEdit => {
  const desk = useDesk();
  const queries = useQueryClient();
  const [base, setBase] = useState(given);
  const name = `${workspace}/${given.id}`;
  // A new one has no name yet; a draft from a card is made anew there.
  const place = given.version === 0 && given.id !== "" ? null : name;
  const edit = useEdit<ChangedRule, SavedRule, Held>({
    drafts: changedRules,
    place,
    name,
    seenIn: (draft) => draft.seen,
    stored: base.version,
  });
  const { conflict, put, saving } = edit;
  const seen = edit.seen ?? base.version;
  const [begun, setBegun] = useState({ text: edit.draft?.text ?? given.text, round: 0 });
  const [text, write] = useState(begun.text);
  const latest = useRef(text);
  const { check, checked, unchecked } = useRuleCheck(text, begun.text);

  const begin = useCallback(
    (next: RuleText) => {
      if (place !== null) changedRules.keep(place, undefined);
      setBase(next);
      put(() => ({ conflict: null, failed: null }));
      // What the editor shows already stays in it, with its cursor and its history.
      if (next.text === latest.current) return;
      latest.current = next.text;
      write(next.text);
      setBegun(({ round }) => ({ text: next.text, round: round + 1 }));
    },
    [place, put],
  );
  /** It is stored now. What was typed since, here or after a look elsewhere, goes on from there. */
  const present = (saved: RuleText): void => {
    const typed = (place === null ? undefined : changedRules.of(place)?.text) ?? latest.current;
    if (place !== null) changedRules.keep(place, undefined);
    if (typed !== saved.text) changedRules.keep(`${workspace}/${saved.id}`, { text: typed, seen: saved.version });
    savedRules.tell({ of: name, rule: saved });
  };
  // The editor that is open goes on from there, which need not be the one that saved it.
  useEffect(
    () =>
      savedRules.subscribe(({ of, rule }) => {
        if (of !== name) return;
        setBase(rule);
        put(() => ({ conflict: null }));
      }),
    [name, put],
  );
  const edited = text !== base.text;
  // Somebody else changed it: shown at once where nothing is lost by it.
  useEffect(() => {
    // What comes while it is saved may be the own change. What was saved here may be newer than what was read last.
    if (saving || given.version < base.version || (given.version === base.version && given.text === base.text)) return;
    if (!edited || given.text === text) begin(given);
    // What was saved here, as the console writes it.
    else if (given.version === base.version || given.version === seen) setBase(given);
    else put(() => ({ conflict: notSaved(given.id, given) }));
  }, [base, begin, edited, given, put, saving, seen, text]);

  useEffect(() => {
    if (gone) put((before) => ({ conflict: before.conflict ?? notSaved(given.id, null) }));
  }, [given.id, gone, put]);

  const setText = useCallback(
    (next: string) => {
      latest.current = next;
      write(next);
      if (place === null) return;
      if (next === base.text) changedRules.keep(place, undefined);
      else changedRules.keep(place, { text: next, seen: changedRules.of(place)?.seen ?? base.version });
    },
    [base, place],
  );

  const send = async (state: RuleState | null, accepted: Accepted): Promise<Answer<SavedRule, SavedRule, Held>> => {
    const { sure = false, limits = false, denied = false, waiting = [], steps } = accepted;
    try {
      const saved = await desk.call("save_rule", {
        workspace,
        text,
        state,
        seenVersion: seen === 0 ? null : seen,
        sure,
        acceptLimits: limits,
        acceptDenied: denied,
        acceptWaiting: [...waiting],
        ...(steps === undefined ? {} : { steps }),
      });
      const { denied: calls, waiting: wait } = saved;
      if (saved.steps !== undefined)
        return { refused: { why: "steps", key: saved.steps, state, accepted }, late: whySteps(saved.steps) };
      if (calls !== null) return { refused: { why: "denied", calls, state, accepted }, late: whyDenied(calls) };
      if (wait !== null) return { refused: { why: "waiting", calls: wait, state, accepted }, late: whyWaiting(wait) };
      if (saved.version === null) return { conflict: saved, late: whyConflict(saved) };
      // The bus may take its time, and nobody has to wait for it with typing. Who shows the rule reads it as it was
      // written.
      present({ id: saved.id, version: saved.version, text });
      await queries.invalidateQueries({ queryKey: ["rules"] });
      return { saved };
    } catch (thrown) {
      const { code, message } = toCallError(thrown);
      const late = `Nothing was changed: ${message}.`;
      if (code === "verdict_not_allowed" && !limits)
        return { refused: { why: "limits", message, state, accepted }, late };
      if (code === "not_armed") return { refused: { why: "unproven", state, accepted }, late };
      throw thrown;
    }
  };
  const save = (state: RuleState | null, accepted: Accepted = {}): Promise<SavedRule | null> =>
    edit.save(questionOf(given.id, state), () => send(state, accepted));
  const keepMine = (): void => {
    const version = conflict?.conflict?.version ?? 0;
    if (conflict?.conflict != null) setBase(conflict.conflict);
    edit.keep({ text, seen: version });
    put(() => ({ conflict: null }));
  };
  return {
    initial: begun.text,
    round: begun.round,
    text,
    setText,
    edited,
    isKept: place !== null,
    check,
    checked,
    busy: saving,
    trouble: edit.failed ?? unchecked,
    conflict,
    held: edit.refused,
    save,
    keepMine,
    letGo: (of) => {
      put((before) => ({ refused: before.refused === of ? null : before.refused }));
    },
    takeTheirs: () => {
      if (conflict?.conflict != null) begin(conflict.conflict);
    },
    revert: () => {
      begin(base);
    },
  };
};
