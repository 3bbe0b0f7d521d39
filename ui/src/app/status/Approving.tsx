import { plainText } from "../../components/shown";
import { formatMoment } from "../../desk/clock";
import { useServerSecond } from "../../desk/DeskContext";
import type { BypassView, StatusView } from "../../ipc/generated";

const reported = (bypass: BypassView, nowMs: number): string =>
  `Bypass: ${bypass.agent}, up to ${bypass.upTo}, ` +
  `until ${formatMoment(bypass.untilMs, nowMs)}, by ${plainText(bypass.by)}`;

/** What approves calls without a person: rules and bypasses. Empty without any. */
export const Approving = ({ status }: { readonly status: StatusView }) => {
  const now = useServerSecond();
  const rules = status.rulesApproving;
  // Under panic none of them counts.
  const bypasses = status.panic !== null ? [] : status.bypasses.filter((bypass) => bypass.untilMs > now);
  const last = Math.max(...bypasses.map((bypass) => bypass.untilMs));
  if (rules === 0 && bypasses.length === 0) return null;
  return (
    <span className="min-w-16 !shrink truncate text-warn-text" data-testid="approving">
      {rules === 0 ? null : (
        <span data-testid="rules-approving">
          {rules.toLocaleString("en")} {rules === 1 ? "rule" : "rules"} approving
        </span>
      )}
      {rules === 0 || bypasses.length === 0 ? null : ", "}
      {bypasses.length === 0 ? null : (
        <span data-testid="bypass" title={bypasses.map((bypass) => reported(bypass, now)).join("\n")}>
          {bypasses.length} {bypasses.length === 1 ? "bypass" : "bypasses"} until{" "}
          {formatMoment(last, now).slice(0, -":00".length)}
        </span>
      )}
    </span>
  );
};
