import type { ButtonHTMLAttributes } from "react";

type Tone = "plain" | "deny" | "quiet";

const TONES: Record<Tone, string> = {
  plain: "border-line bg-raised text-text hover:border-text-3",
  deny: "border-bad-line bg-raised text-bad hover:bg-bad-bg",
  quiet: "border-transparent bg-transparent text-text-2 hover:bg-raised hover:text-text",
};

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly tone?: Tone;
}

export const Button = ({ tone = "plain", className = "", type = "button", ...rest }: ButtonProps) => (
  <button
    // oxlint-disable-next-line react/button-has-type -- `type` is narrowed by the caller
    type={type}
    className={`flex items-center gap-2 rounded-lg border px-3.5 py-2 text-[13px] font-semibold whitespace-nowrap
      disabled:opacity-45 ${TONES[tone]} ${className}`}
    {...rest}
  />
);
