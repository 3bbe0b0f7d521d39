import { Button } from "../../../components/Button";
import { Kbd } from "../../../components/Kbd";
import { RowMark } from "../../../components/RowMark";
import { plainText } from "../../../components/shown";
import { ShownText } from "../../../components/ShownText";
import { useServerNow } from "../../../desk/DeskContext";
import { undoable, wordsOf, type Sent } from "../sent";

const LOOK: Partial<Record<Sent["state"], string>> = { stored: "text-text", voted: "text-text" };

const Left = ({ releaseMs }: { readonly releaseMs: number | null }) => {
  const now = useServerNow(100);
  return <> {(Math.max((releaseMs ?? now) - now, 0) / 1_000).toFixed(1)} s</>;
};

const Words = ({ entry }: { readonly entry: Sent }) => {
  const { strong, rest } = wordsOf(entry);
  if (entry.state === "failed") return <span className="text-bad">{rest}</span>;
  if (entry.practice !== null) {
    return (
      <b
        className={`font-semibold ${entry.practice.right ? "text-text" : "text-warn-text"}`}
        data-testid="practice-answer"
      >
        <ShownText text={entry.practice.words} />
      </b>
    );
  }
  return (
    <>
      {strong === "" ? null : (
        <b className={`font-semibold ${LOOK[entry.state] ?? "text-warn-text"}`}>
          {entry.state !== "lost" ? "" : entry.by === null ? "somebody else" : <ShownText text={entry.by} />}
          {strong}
        </b>
      )}
      {rest}
      {entry.state === "holding" ? <Left releaseMs={entry.releaseMs} /> : null}
    </>
  );
};

/** What happened last, in one sentence without the seconds: a reader that announces each of them hears nothing else. */
const said = (list: readonly Sent[]): string => {
  const [last] = list.toSorted((a, b) => b.sinceMs - a.sinceMs);
  if (last === undefined) return "";
  const { strong, rest } = wordsOf(last);
  const by = last.state === "lost" ? (last.by === null ? "somebody else" : plainText(last.by)) : "";
  return `${plainText(last.name)}: ${by}${strong}${rest}`;
};

interface SentTrayProps {
  readonly list: readonly Sent[];
  readonly onUndo: () => void;
  readonly onSelect: (key: string) => void;
}

/** What became of the last verdicts. Says "approved" only after the stream has acknowledged it. */
export const SentTray = ({ list, onUndo, onSelect }: SentTrayProps) => {
  const held = undoable(list);
  return (
    <>
      {list.length === 0 ? null : (
        <div className="border-t border-line bg-panel" data-testid="sent">
          <ol className="m-0 max-h-56 list-none overflow-auto p-0" aria-label="Your verdicts">
            {list.map((entry) => (
              <li
                key={entry.key}
                className="row-line flex items-center gap-2 px-3.5 py-2 last:border-0"
                data-key={entry.key}
                data-state={entry.state}
              >
                <button
                  type="button"
                  className="min-w-0 flex-1 text-left"
                  onClick={() => {
                    onSelect(entry.key);
                  }}
                >
                  <span className="block truncate font-mono text-[12px]">
                    {entry.finding === null ? null : <RowMark finding={entry.finding} />}
                    <b className="font-semibold">
                      <ShownText text={entry.name} />
                    </b>{" "}
                    <span className="text-text-2" data-testid="sent-args">
                      <ShownText text={entry.args} />
                    </span>
                  </span>
                  <span className="block text-[12px] text-text-2">
                    <Words entry={entry} />
                  </span>
                  {entry.state === "holding" && entry.message !== null ? (
                    <span role="alert" className="block text-[12px] text-bad">
                      {entry.message}
                    </span>
                  ) : null}
                </button>
              </li>
            ))}
          </ol>
          {/* In one place, whatever becomes of the rows. */}
          <div className="flex min-h-[38px] justify-end border-t border-line px-3.5 py-1.5">
            {held.length === 0 ? null : (
              <Button className="!px-2.5 !py-1 !text-xs" onClick={onUndo}>
                {held.length > 1 ? `Undo all ${held.length}` : "Undo"} <Kbd command="undo" />
              </Button>
            )}
          </div>
        </div>
      )}
      <div className="sr-only" role="status" data-testid="sent-said">
        {said(list)}
      </div>
    </>
  );
};
