import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";

const SHOWN_MS = 2_000;

/** Puts a text on the clipboard, and says whether it is there. */
export const CopyButton = ({ text, of }: { readonly text: string; readonly of: string }) => {
  const [done, setDone] = useState<boolean | null>(null);
  useEffect(() => {
    if (done === null) return undefined;
    const timer = setTimeout(() => {
      setDone(null);
    }, SHOWN_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [done]);
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => {
        setDone(true);
      },
      () => {
        setDone(false);
      },
    );
  };
  return (
    <button
      type="button"
      className={`flex shrink-0 items-center gap-1.5 rounded border border-line px-2 py-0.5 text-xs text-text-2
        hover:bg-raised hover:text-text`}
      data-testid="copy"
      onClick={copy}
    >
      {done === true ? <Check size={13} aria-hidden="true" /> : <Copy size={13} aria-hidden="true" />}
      <span role="status">{done === null ? "Copy" : done ? "Copied" : "Not copied: select the text"}</span>
      <span className="sr-only">: {of}</span>
    </button>
  );
};
