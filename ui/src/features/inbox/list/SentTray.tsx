import { Button } from "../../../components/Button";
import { Kbd } from "../../../components/Kbd";
import { ShownText } from "../../../components/ShownText";
import { useServerNow } from "../../../desk/DeskContext";
import { pastOf } from "../../../components/verdict";
import { undoable, type Sent } from "../sent";

const Words = ({ entry }: { readonly entry: Sent }) => {
  const now = useServerNow(100);
  switch (entry.state) {
    case "sending":
      return <>sending…</>;
    case "holding":
      return <><b className="font-semibold text-warn-text">held, not sent</b> {(Math.max((entry.releaseMs ?? now) - now, 0) / 1_000).toFixed(1)} s</>;
    case "queued":
      return <>signed, on its way to the bus</>;
    case "stored":
      return <><b className="font-semibold text-text">{pastOf(entry.sentAs)}</b>, on the bus</>;
    case "lost":
      return <><b className="font-semibold text-warn-text">{entry.by === null ? "somebody else" : <ShownText text={entry.by} />} was first:</b> {pastOf(entry.sentAs)}</>;
    case "undone":
      return <>taken back, waits again</>;
    case "failed":
      return <span className="text-bad">{entry.message ?? "was not taken; look at the card"}</span>;
  }
};

interface SentTrayProps {
  readonly list: readonly Sent[];
  readonly onUndo: () => void;
  readonly onSelect: (key: string) => void;
}

/** What became of the last verdicts. Says "approved" only after the stream has acknowledged it. */
export const SentTray = ({ list, onUndo, onSelect }: SentTrayProps) => {
  const held = undoable(list);
  if (list.length === 0) return null;
  return (
    <ol className="m-0 max-h-56 list-none overflow-auto border-t border-line bg-panel p-0" role="status" aria-label="Your verdicts" data-testid="sent">
      {list.map((entry) => (
        <li key={entry.key} className="row-line flex items-center gap-2 px-3.5 py-2 last:border-0" data-key={entry.key} data-state={entry.state}>
          <button type="button" className="min-w-0 flex-1 text-left" onClick={() => { onSelect(entry.key); }}>
            <span className="block truncate font-mono text-[12px] font-semibold"><ShownText text={entry.name} /></span>
            <span className="block text-[12px] text-text-2"><Words entry={entry} /></span>
            {entry.state === "holding" && entry.message !== null ? <span className="block text-[12px] text-bad">{entry.message}</span> : null}
          </button>
          {entry === held ? <Button className="!px-2.5 !py-1 !text-xs" onClick={onUndo}>Undo <Kbd command="undo" /></Button> : null}
        </li>
      ))}
    </ol>
  );
};
