import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../Button";
import { Overlay } from "../Overlay";
import { ShownText } from "../ShownText";
import { useDesk } from "../../desk/DeskContext";
import type { Card, GrantReach, RuleState, SavedRule } from "../../ipc/generated";
import { toCallError } from "../../ipc/transport";
import { RuleDesk } from "./RuleDesk";

const REACH: readonly (readonly [GrantReach, string])[] = [
  ["thread", "This thread"],
  ["always", "Always, for 90 days"],
];

const STATE: Record<RuleState, string> = {
  on: "is active: it approves matching calls without asking",
  shadow: "runs in shadow: it records what it would have approved",
  off: "is saved and turned off",
};

interface DoneProps {
  readonly workspace: string;
  readonly saved: SavedRule;
  readonly state: RuleState;
  readonly onClose: () => void;
}

/** What became of the rule, and the way back. */
const Done = ({ workspace, saved, state, onClose }: DoneProps) => {
  const desk = useDesk();
  const queries = useQueryClient();
  const [undoing, setUndoing] = useState<"no" | "now" | "done">("no");
  const [problem, setProblem] = useState<string | null>(null);
  const undo = async (): Promise<void> => {
    setUndoing("now");
    setProblem(null);
    try {
      const removed = await desk.call("remove_rule", {
        workspace,
        id: saved.id,
        acceptLimits: false,
        acceptDenied: false,
        acceptWaiting: [],
      });
      if (removed.denied !== null || removed.waiting !== null) throw new Error("without it other rules decide more");
      setUndoing("done");
      await queries.invalidateQueries({ queryKey: ["rules"] });
    } catch (thrown) {
      setUndoing("no");
      setProblem(`It was not removed: ${toCallError(thrown).message}. Remove it on Rules.`);
    }
  };
  return (
    <>
      <p role="status" className="mt-0 text-text-2" data-testid="grant-done">
        Rule <b className="font-mono font-semibold text-text">{saved.id}</b>{" "}
        {undoing === "done" ? "is removed. What it approved meanwhile stays approved." : `${STATE[state]}.`}
      </p>
      {problem === null ? null : (
        <p role="alert" className="text-bad">
          {problem}
        </p>
      )}
      <div className="flex flex-wrap justify-end gap-2.5">
        {undoing === "done" ? null : (
          <>
            <Button tone="quiet" disabled={undoing === "now"} onClick={() => void undo()}>
              Undo
            </Button>
            <Link
              to="/rules"
              search={{ ws: workspace, id: saved.id }}
              className="rounded-lg border border-line bg-raised px-3.5 py-2 font-semibold hover:border-text-3"
            >
              See the rule
            </Link>
          </>
        )}
        {/* oxlint-disable-next-line jsx-a11y/no-autofocus -- what was chosen is done: the keyboard goes on here */}
        <Button autoFocus onClick={onClose}>
          Done
        </Button>
      </div>
    </>
  );
};

/** Drafts the narrowest rule that lets this card's call run, with its effect on the past. */
export const RuleFromCard = ({ card, onClose }: { readonly card: Card; readonly onClose: () => void }) => {
  const desk = useDesk();
  const [reach, setReach] = useState<GrantReach>(card.thread === null ? "always" : "thread");
  const [saved, setSaved] = useState<{ readonly rule: SavedRule; readonly state: RuleState } | null>(null);
  const strict = card.path === "critical";
  const { data: words } = useQuery({
    queryKey: ["rule-words"],
    queryFn: () => desk.call("rule_words", {}),
    staleTime: Infinity,
  });
  const { data, error } = useQuery({
    queryKey: ["draft", card.key, reach],
    queryFn: () => desk.call("draft_rule", { key: card.key, reach, days: null }),
    gcTime: 0,
    retry: false,
    staleTime: Infinity,
  });
  return (
    <Overlay title="The narrowest rule for this card" wide onClose={onClose}>
      <div
        className={`-mx-5 -my-4 flex max-h-[68vh] flex-col
          ${data === undefined || error !== null || saved !== null ? "" : "min-h-[320px]"}`}
        data-testid="grant"
        data-reach={reach}
      >
        {error !== null ? null : (
          <div className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line-soft px-5 py-3 text-text-2">
            <span className="min-w-0 truncate">
              Allows{" "}
              <b className="font-mono font-semibold text-text">
                {card.tool === null ? "it" : <ShownText text={card.tool.name} />}
              </b>{" "}
              with these arguments, from <b className="font-semibold text-text">{card.agent}</b>
            </span>
            {strict ? (
              <span className="basis-full text-warn" data-testid="grant-strict">
                It starts in shadow, as the call is critical or irreversible. Enable it later on Rules, with the same
                steps.
              </span>
            ) : null}
            <span className="ml-auto flex gap-4" role="radiogroup" aria-label="How long it applies">
              {REACH.map(([value, label]) => (
                <label
                  key={value}
                  className={`flex items-center gap-1.5
                    ${value === "thread" && card.thread === null ? "text-text-3" : ""}`}
                >
                  <input
                    type="radio"
                    name="reach"
                    value={value}
                    checked={reach === value}
                    disabled={saved !== null || (value === "thread" && card.thread === null)}
                    onChange={() => {
                      setReach(value);
                    }}
                  />
                  {label}
                </label>
              ))}
            </span>
          </div>
        )}
        {error !== null ? (
          <p role="alert" className="px-5 py-4 text-bad first-letter:uppercase" data-testid="grant-refused">
            {toCallError(error).message}
          </p>
        ) : data === undefined || words === undefined ? (
          <p className="px-5 py-4 text-text-3">Drafting…</p>
        ) : saved !== null ? (
          <div className="px-5 py-4">
            <Done workspace={card.workspace} saved={saved.rule} state={saved.state} onClose={onClose} />
          </div>
        ) : (
          <RuleDesk
            key={reach}
            workspace={card.workspace}
            rule={data}
            words={words}
            state={null}
            wide
            shadowOnly={strict}
            onSaved={(rule, state) => {
              setSaved({ rule, state: state ?? "shadow" });
            }}
          />
        )}
      </div>
    </Overlay>
  );
};
