import { useMemo, useState, type ReactNode } from "react";
import { Button } from "../Button";
import { CodeField } from "../code/CodeField";
import { plainText } from "../shown";
import { ShownText } from "../ShownText";
import { useLost, useStatus } from "../../desk/DeskContext";
import type { RuleProblem, RuleState, RuleText, RuleWords, SavedRule } from "../../ipc/generated";
import { Conflict } from "./Conflict";
import { DeniedDialog } from "./DeniedDialog";
import { EnableDialog } from "./EnableDialog";
import { ruleLanguage } from "./language";
import { LimitsDialog } from "./LimitsDialog";
import { PreviewPanel } from "./PreviewPanel";
import { usePreview } from "./usePreview";
import { useRuleEdit, type Accepted } from "./useRuleEdit";
import { StepsDialog } from "../../features/inbox/StepsDialog";
import { Region } from "../Region";
import { useHere } from "../useHere";
import { WaitingDialog } from "./WaitingDialog";

interface RuleDeskProps {
  readonly workspace: string;
  readonly rule: RuleText;
  readonly words: RuleWords;
  /** As it is stored; none for one that is not stored yet. */
  readonly state: RuleState | null;
  /** Beside each other where there is room for both. */
  readonly wide?: boolean;
  readonly takesFocus?: boolean;
  /** It is not enabled here. */
  readonly shadowOnly?: boolean;
  /** Somebody removed it meanwhile. */
  readonly gone?: boolean;
  /** Only while it is still on screen: the bus may take its time, and who looks elsewhere by then stays there. */
  readonly onSaved: (saved: SavedRule, state: RuleState | null) => void;
  /** More buttons. */
  readonly children?: ReactNode;
}

const NOTHING: RuleProblem[] = [];

/** One rule: its words, what is wrong with them, what they would have done, and what can be done with it. */
export const RuleDesk = ({
  workspace,
  rule,
  words,
  state,
  wide = false,
  takesFocus = false,
  shadowOnly = false,
  gone = false,
  onSaved,
  children,
}: RuleDeskProps) => {
  const edit = useRuleEdit(workspace, rule, gone);
  const language = useMemo(() => ruleLanguage(words), [words]);
  const [asking, setAsking] = useState(false);
  const here = useHere();
  const problems = edit.check?.problems ?? NOTHING;
  const current = edit.checked === edit.text;
  const good = current && problems.length === 0;
  // While somebody types, what was checked last stays.
  const preview = usePreview(workspace, problems.length === 0 ? edit.checked : null);
  const lost = useLost();
  const readOnly = useStatus()?.readOnly ?? null;
  const { held } = edit;
  const effect = edit.check?.effect ?? null;
  const report = preview.view?.report ?? null;
  const approves = effect === "approve";
  const cleared = report !== null && report.denied === 0 && (preview.days === 90 || preview.days === 0);
  const ready = good && !edit.busy && edit.conflict === null && lost === null && readOnly === null;
  const save = async (next: RuleState | null, accepted: Accepted = {}): Promise<void> => {
    const saved = await edit.save(next, accepted);
    if (saved !== null && here.current) onSaved(saved, next);
  };
  const enable = (): void => {
    if (approves && !cleared) setAsking(true);
    else void save("on");
  };
  const plainSave = (): void => {
    if (!ready || !edit.edited) return;
    // What it says about itself is saved; whatever lets it approve goes through enabling.
    if (edit.check?.state === "on" && approves && !shadowOnly) enable();
    else void save(shadowOnly ? "shadow" : null);
  };
  const marks = useMemo(
    () =>
      problems.map(({ line, column, place, message }) => ({
        line,
        column,
        text: `${plainText(place)} ${plainText(message)}`.trim(),
      })),
    [problems],
  );
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <Region
        label="The rule and what it does"
        className={`flex-1 px-5 py-4
          ${wide ? "grid content-start gap-x-[26px] grid-cols-[minmax(0,1fr)_minmax(0,1fr)] narrow:block" : ""}`}
      >
        <div className="mb-4 min-w-0">
          <Conflict edit={edit} />
          <CodeField
            initial={edit.initial}
            round={edit.round}
            label="Rule as TOML"
            language={language}
            takesFocus={takesFocus}
            className="max-h-[46vh] min-h-[150px] overflow-auto"
            problems={marks}
            onChange={edit.setText}
            onSubmit={plainSave}
          />
          <div role="alert" className="mt-1.5 text-[12.5px] text-bad" data-testid="rule-problems">
            {edit.trouble}
            {problems.map((problem, index) => (
              // Problems are drawn anew for every check.
              // oxlint-disable-next-line react/no-array-index-key
              <p key={index} className="m-0">
                Line {problem.line}:{" "}
                <code className="font-mono">
                  <ShownText text={problem.place} />
                </code>{" "}
                <ShownText text={problem.message} />
              </p>
            ))}
          </div>
        </div>
        <div className="min-w-0">
          {good || preview.view !== null || preview.trouble !== null ? (
            <PreviewPanel preview={preview} effect={effect} />
          ) : current ? (
            <p className="m-0 text-text-3">Fix the rule to try it on past requests.</p>
          ) : null}
        </div>
      </Region>
      <div
        className="flex flex-wrap items-center gap-2.5 border-t border-line bg-panel px-5 py-3"
        role="toolbar"
        aria-label="This rule"
        data-testid="rule-acts"
      >
        {edit.edited && rule.version > 0 ? (
          <Button disabled={!ready} onClick={plainSave}>
            Save <kbd className="kbd">Ctrl Enter</kbd>
          </Button>
        ) : null}
        {edit.edited && edit.isKept ? (
          <Button tone="quiet" onClick={edit.revert}>
            Discard changes
          </Button>
        ) : null}
        {state === "off" || state === null ? null : (
          <Button disabled={!ready} onClick={() => void save("off")}>
            Turn off
          </Button>
        )}
        {state === "shadow" && !edit.edited ? null : (
          <Button disabled={!ready} onClick={() => void save("shadow")}>
            Run in shadow
          </Button>
        )}
        {children}
        <span className="flex-1" />
        {edit.busy ? <span className="text-text-3">Sending to the bus…</span> : null}
        {shadowOnly || (state === "on" && !edit.edited) ? null : (
          <Button
            tone={approves && !cleared ? "deny" : "plain"}
            disabled={!ready}
            data-testid="rule-enable"
            onClick={enable}
          >
            {approves && !cleared ? (report === null ? "Enable without simulation…" : "Enable anyway…") : "Enable"}
          </Button>
        )}
      </div>
      {held?.why === "limits" ? (
        <LimitsDialog
          message={held.message}
          onClose={() => {
            edit.letGo(held);
          }}
          onConfirm={() => save(held.state, { ...held.accepted, limits: true })}
        />
      ) : null}
      {held?.why === "denied" ? (
        <DeniedDialog
          denied={held.calls}
          verb="Save anyway"
          onClose={() => {
            edit.letGo(held);
          }}
          onConfirm={() => save(held.state, { ...held.accepted, denied: true })}
        />
      ) : null}
      {held?.why === "waiting" ? (
        <WaitingDialog
          waiting={held.calls}
          verb={held.state === "on" ? "Enable" : "Save"}
          onClose={() => {
            edit.letGo(held);
          }}
          onConfirm={() => save(held.state, { ...held.accepted, waiting: held.calls.keys })}
        />
      ) : null}
      {held?.why === "steps" ? (
        <StepsDialog
          requestKey={held.key}
          onClose={() => {
            edit.letGo(held);
          }}
          onDone={(steps) => save(held.state, { ...held.accepted, steps })}
        />
      ) : null}
      {held?.why === "unproven" ? (
        <EnableDialog
          report={null}
          onClose={() => {
            edit.letGo(held);
          }}
          onEnable={() => save(held.state, { ...held.accepted, sure: true })}
        />
      ) : null}
      {asking ? (
        <EnableDialog
          report={preview.days === 90 || preview.days === 0 ? report : null}
          onClose={() => {
            setAsking(false);
          }}
          onEnable={() => save("on", { sure: true })}
        />
      ) : null}
    </div>
  );
};
