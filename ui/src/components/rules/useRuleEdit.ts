/** One rule while it is edited: its text, what is wrong with it, and what became of saving it. */
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { useDesk } from "../../desk/DeskContext";
import type { DeniedCalls, RuleCheck, RuleState, RuleText, SavedRule } from "../../ipc/generated";
import { toCallError } from "../../ipc/transport";
import { changedRules } from "./unsaved";

/** Typing is checked when it pauses. */
const PAUSE_MS = 250;

/** What the operator was told and wants all the same. */
export interface Accepted {
  /** Asked twice before a rule approves. */
  readonly sure?: boolean;
  /** What changes for other rules. */
  readonly limits?: boolean;
  /** Calls that people denied and that would run. */
  readonly denied?: boolean;
}

/** A saving that was not made: why, and how it was tried. */
export type Held = { readonly state: RuleState | null; readonly accepted: Accepted } & (
  | { readonly why: "limits"; readonly message: string }
  | { readonly why: "denied"; readonly calls: DeniedCalls }
  | { readonly why: "unproven" }
);

export interface RuleEdit {
  /** What the editor began with; changes only when the editor should begin anew. */
  readonly initial: string;
  readonly text: string;
  readonly setText: (text: string) => void;
  /** The version that was seen; 0 for a rule that stands nowhere yet. */
  readonly seen: number;
  readonly edited: boolean;
  /** What is typed outlives a look elsewhere. */
  readonly isKept: boolean;
  /** None while the text was not checked. */
  readonly check: RuleCheck | null;
  readonly checked: string | null;
  readonly busy: boolean;
  readonly trouble: string | null;
  /** What stands instead of the version that was seen; nothing was saved. */
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

/** Edits one rule: its text outlives a look elsewhere, is checked when typing pauses, and is saved on the version that was seen. */
export const useRuleEdit = (workspace: string, given: RuleText, gone = false): RuleEdit => {
  const desk = useDesk();
  const queries = useQueryClient();
  const [base, setBase] = useState(given);
  // A new one has no name yet; a draft from a card is made anew there.
  const place = given.version === 0 && given.id !== "" ? null : `${workspace}/${given.id}`;
  const [kept] = useState(() => (place === null ? undefined : changedRules.of(place)));
  const [initial, setInitial] = useState(kept?.text ?? given.text);
  const [text, write] = useState(kept?.text ?? given.text);
  const latest = useRef(text);
  const [seen, setSeen] = useState(kept?.seen ?? given.version);
  const [check, setCheck] = useState<{ readonly of: string; readonly found: RuleCheck } | null>(null);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [conflict, setConflict] = useState<SavedRule | null>(null);
  const [held, setHeld] = useState<Held | null>(null);

  const begin = useCallback((next: RuleText) => {
    if (place !== null) changedRules.keep(place, undefined);
    setBase(next);
    setInitial(next.text);
    latest.current = next.text;
    write(next.text);
    setSeen(next.version);
    setConflict(null);
    setTrouble(null);
  }, [place]);
  /** It stands now. What was typed since, here or after a look elsewhere, goes on from there. */
  const stands = (saved: RuleText): void => {
    const typed = (place === null ? undefined : changedRules.of(place)?.text) ?? latest.current;
    if (place !== null) changedRules.keep(place, undefined);
    if (typed !== saved.text) changedRules.keep(`${workspace}/${saved.id}`, { text: typed, seen: saved.version });
    setBase(saved);
    setSeen(saved.version);
    setConflict(null);
  };
  const edited = text !== base.text;
  // Somebody else changed it: shown at once where nothing is lost by it.
  useEffect(() => {
    // What comes while it is saved may be the own change. What was saved here may be newer than what was read last.
    if (busy || given.version < base.version || (given.version === base.version && given.text === base.text)) return;
    if (!edited) begin(given);
    // What was saved here, as the console writes it.
    else if (given.version === base.version) setBase(given);
    else setConflict({ id: given.id, version: null, conflict: given, gone: false, denied: null });
  }, [base, begin, busy, edited, given]);

  useEffect(() => {
    if (gone) setConflict((before) => before ?? { id: given.id, version: null, conflict: null, gone: true, denied: null });
  }, [given.id, gone]);

  const setText = useCallback((next: string) => {
    latest.current = next;
    write(next);
    if (place === null) return;
    if (next === base.text) changedRules.keep(place, undefined);
    else changedRules.keep(place, { text: next, seen });
  }, [base.text, place, seen]);

  useEffect(() => {
    let wanted = true;
    const timer = setTimeout(() => {
      desk.call("check_rule", { text }).then(
        (found) => { if (wanted) setCheck({ of: text, found }); },
        (thrown: unknown) => { if (wanted) setTrouble(toCallError(thrown).message); },
      );
    }, text === initial ? 0 : PAUSE_MS);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [desk, initial, text]);

  const save = async (state: RuleState | null, accepted: Accepted = {}): Promise<SavedRule | null> => {
    const { sure = false, limits = false, denied = false } = accepted;
    setBusy(true);
    setTrouble(null);
    setHeld(null);
    try {
      const saved = await desk.call("save_rule", { workspace, text, state, seenVersion: seen === 0 ? null : seen, sure, acceptLimits: limits, acceptDenied: denied });
      if (saved.denied !== null) {
        setHeld({ why: "denied", calls: saved.denied, state, accepted });
        return null;
      }
      if (saved.version === null) {
        setConflict(saved);
        return null;
      }
      // The bus may take its time, and nobody has to wait for it with typing. Who shows the rule reads it as it was written.
      stands({ id: saved.id, version: saved.version, text });
      await queries.invalidateQueries({ queryKey: ["rules"] });
      return saved;
    } catch (thrown) {
      const { code, message } = toCallError(thrown);
      if (code === "verdict_not_allowed" && !limits) setHeld({ why: "limits", message, state, accepted });
      else if (code === "not_armed") setHeld({ why: "unproven", state, accepted });
      else setTrouble(message);
      return null;
    } finally {
      setBusy(false);
    }
  };
  const keepMine = (): void => {
    const version = conflict?.conflict?.version ?? 0;
    setSeen(version);
    if (conflict?.conflict != null) setBase(conflict.conflict);
    if (place !== null) changedRules.keep(place, { text, seen: version });
    setConflict(null);
  };
  return {
    initial, text, setText, seen, edited, isKept: place !== null, check: check?.found ?? null, checked: check?.of ?? null, busy, trouble, conflict, held, letGo: (of) => { setHeld((before) => (before === of ? null : before)); }, save, keepMine,
    takeTheirs: () => { if (conflict?.conflict != null) begin(conflict.conflict); },
    revert: () => { begin(base); },
  };
};
