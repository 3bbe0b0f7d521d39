import { Link } from "@tanstack/react-router";
import { ShownText } from "../ShownText";
import { plainText } from "../shown";
import type { NearRule, SetupReasonView, WhyNow } from "../../ipc/generated";

const MATCHERS: Record<string, string> = {
  critical_risk: "it does not name this critical call",
  hidden_characters: "the call has characters that hide or reorder text",
  outside_skill: "the call is outside the active skill",
  tool_changed: "the tool changed since the rule was made",
  several_approvals: "several operators must agree",
  not_approvable: "the agent does not accept approvals for this",
  author_limit: "the operator who signed the rules may not allow this",
  stop: "a finding stops it at a place that the rule does not name",
  expires_at: "the rule has expired",
  only_args: "an argument is not named in the rule",
  when: "its condition is false",
  thread_id: "the thread is different",
};

const WOULD: Record<NearRule["effect"], string> = { approve: "allow it", deny: "deny it", ask: "ask" };

const ruleLink = (workspace: string, id: string) => (
  <Link to="/rules" search={{ ws: workspace, id }} className="font-mono text-text hover:underline">
    {id}
  </Link>
);

const failed = (matcher: NearRule["matcher"]) => {
  const word = plainText(matcher);
  return (
    MATCHERS[word] ?? (
      <>
        <code className="font-mono">{word.replace(/^(args|command|path)\.\//, "")}</code> is different
      </>
    )
  );
};

const Setup = ({ setup }: { readonly setup: SetupReasonView }) => {
  const key = (
    <code className="font-mono text-text">
      <ShownText text={setup.key} />
    </code>
  );
  switch (setup.state) {
    case "undeclared":
      return <>Setup key {key} is not declared by its agent.</>;
    case "unbound":
      return <>Setup key {key} is not bound, so none of its values skips asking.</>;
    case "differs":
      return (
        <>
          Setup key {key} is{" "}
          {setup.value === null ? (
            "another value"
          ) : (
            <code className="font-mono">
              <ShownText text={setup.value} />
            </code>
          )}
          ; this call would not ask with{" "}
          {setup.skipsWhen === null ? (
            "another one"
          ) : (
            <code className="font-mono">
              <ShownText text={setup.skipsWhen} />
            </code>
          )}
          .
        </>
      );
    case "redeclared":
      return <>Setup key {key} changed in its agent after it was bound. It asks until you bind or set it again.</>;
    case "passes":
      return <>Setup key {key} lets it pass.</>;
    default:
      return <>Setup key {key} would let it pass, but never a call like this.</>;
  }
};

const outcome = (now: WhyNow): string => {
  if (now.outcome === "deny") return "The rules deny it";
  if (now.outcome === "approve") return "The rules allow it";
  if (now.rule !== null) return now.approvals > 1 ? `A rule asks ${now.approvals} operators` : "A rule asks";
  return now.matched.length === 0 ? "No rule covers it" : "No rule allows it";
};

interface ReasonsProps {
  readonly now: WhyNow;
  readonly workspace: string;
  /** Near misses that are shown at most. */
  readonly most: number;
  /**
   * Rules for another tool or agent alone nearly match every call: they are shown where somebody asks, not beside
   * each card.
   */
  readonly briefly?: boolean;
}

const OTHERS: ReadonlySet<string> = new Set(["tool", "agent"]);

/** What the rules in force say of a request, which nearly did, and its setup key. */
export const Reasons = ({ now, workspace, most, briefly = false }: ReasonsProps) => {
  const near = briefly ? now.near.filter((rule) => !OTHERS.has(plainText(rule.matcher))) : now.near;
  return (
    <div className="selectable flex flex-col gap-1.5 border-l-2 border-accent pl-2.5 text-text-2" data-testid="reasons">
      <p className="m-0">
        <b className="font-semibold text-text">{outcome(now)}</b>
        {now.rule === null || (now.outcome === "approve" && now.matched.length === 0) ? (
          ""
        ) : (
          <>: {ruleLink(workspace, now.rule)}</>
        )}
        .
        {now.held === null ? (
          ""
        ) : (
          <span className="text-warn">
            {" "}
            <ShownText text={now.held} />.
          </span>
        )}
      </p>
      {now.matched
        .filter((rule) => rule.instead !== null || rule.id !== now.rule)
        .map((rule) => (
          <p key={rule.id} className="m-0">
            {ruleLink(workspace, rule.id)} says {rule.says}
            {rule.instead === null ? (
              ""
            ) : (
              <>
                : <ShownText text={rule.instead} />
              </>
            )}
            .
          </p>
        ))}
      {near.slice(0, most).map((rule) => (
        <p key={rule.id} className="m-0" data-testid="near">
          Rule {ruleLink(workspace, rule.id)}{" "}
          {rule.detail !== null ? (
            <>
              almost matches: <ShownText text={rule.detail} />
            </>
          ) : (
            <>
              would {WOULD[rule.effect]}, but {failed(rule.matcher)}
            </>
          )}
          .
        </p>
      ))}
      {near.length > most ? <p className="m-0 text-text-3">{near.length - most} more rules almost match</p> : null}
      {now.setup === null ? null : (
        <p className="m-0">
          <Setup setup={now.setup} />
        </p>
      )}
    </div>
  );
};
