import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Overlay } from "../Overlay";
import { ShownText } from "../ShownText";
import { useDesk } from "../../desk/DeskContext";
import type { Card, GrantReach, SavedRule } from "../../ipc/generated";
import { toCallError } from "../../ipc/transport";
import { RuleDesk } from "./RuleDesk";

const REACH: readonly (readonly [GrantReach, string])[] = [
  ["thread", "This thread"],
  ["always", "Always, for 90 days"],
];

const Done = ({ saved }: { readonly saved: SavedRule }) => (
  <p className="m-0 text-text-2" data-testid="grant-done">
    Rule <b className="font-mono font-semibold text-text">{saved.id}</b> is saved, version {saved.version}. While it is
    active, it approves matching calls without asking.
  </p>
);

/** Drafts the narrowest rule that lets this card's call run, with its effect on the past. */
export const RuleFromCard = ({ card, onClose }: { readonly card: Card; readonly onClose: () => void }) => {
  const desk = useDesk();
  const [reach, setReach] = useState<GrantReach>(card.thread === null ? "always" : "thread");
  const [saved, setSaved] = useState<SavedRule | null>(null);
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
          ${data === undefined || error !== null ? "" : "min-h-[320px]"}`}
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
            <Done saved={saved} />
          </div>
        ) : (
          <RuleDesk
            key={reach}
            workspace={card.workspace}
            rule={data}
            words={words}
            state={null}
            wide
            onSaved={setSaved}
          />
        )}
      </div>
    </Overlay>
  );
};
