import type { Risk } from "../ipc/generated";

const LOOKS: Record<Risk, string> = {
  critical: "bg-bad-bg text-crit outline-1 outline-crit-line",
  high: "bg-warn-bg text-warn",
  // Seen on the line under the cursor too, which is raised itself.
  medium: "bg-raised text-text-2 outline-1 -outline-offset-1 outline-line",
  low: "bg-panel text-text-3 outline-1 -outline-offset-1 outline-line-soft",
  safe: "bg-panel text-text-3 outline-1 -outline-offset-1 outline-line-soft",
};

const SIZES = {
  large: "py-0.5 text-xs",
  small: "h-[15px] self-center text-[11px] leading-[15px]",
  usual: "h-[18px] text-[11px] leading-[18px]",
};

interface RiskBadgeProps {
  readonly risk: Risk;
  readonly large?: boolean;
  readonly small?: boolean;
}

export const RiskBadge = ({ risk, large = false, small = false }: RiskBadgeProps) => (
  <span
    className={`justify-self-end rounded px-[7px] font-semibold ${LOOKS[risk]}
      ${SIZES[large ? "large" : small ? "small" : "usual"]}`}
    data-risk={risk}
  >
    {risk}
  </span>
);
