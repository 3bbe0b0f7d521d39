import { Link } from "@tanstack/react-router";
import type { RuleRef } from "../ipc/generated";
import { plainText } from "./shown";
import { ShownText } from "./ShownText";

interface RuleLinkProps {
  readonly rule: RuleRef;
  readonly workspace: string;
  /** Who decided: `rule` or `setup_key`. */
  readonly origin: string;
}

const KIND: Record<string, string> = { rule: "rule", setup_key: "setup key" };
const look = "text-accent underline";

/** What decided where no person did: its name, its version, and where it is. */
export const RuleLink = ({ rule, workspace, origin }: RuleLinkProps) => {
  const id = plainText(rule.id);
  const name = <ShownText text={rule.name ?? rule.id} />;
  const linked = (): React.ReactNode => {
    if (origin === "setup_key")
      return (
        <Link to="/setup" className={look}>
          {name}
        </Link>
      );
    // A bypass is not among the rules.
    if (id.startsWith("bypass."))
      return (
        <Link to="/agents" className={look}>
          {name}
        </Link>
      );
    return (
      <Link to="/rules" search={{ ws: workspace, id }} className={look}>
        {name}
      </Link>
    );
  };
  return (
    <span data-testid="rule-link">
      {KIND[origin] ?? origin} {linked()}
      {rule.version === null ? "" : `, version ${rule.version}`}
    </span>
  );
};
