import { Monitor, Moon, Sun, TriangleAlert } from "lucide-react";
import { useCommandRunner, useOpenSequence } from "../commands/CommandContext";
import { nextChoice, useSetting } from "../commands/settings";
import { plainText } from "../components/shown";
import { ShownText } from "../components/ShownText";
import { useStatus } from "../desk/DeskContext";
import { Approving } from "./status/Approving";
import { Controls, Panic } from "./status/Controls";
import { Connection, Insecure } from "./status/Connection";
import { Today } from "./status/Today";

const Alarms = ({ count }: { readonly count: number }) => {
  const { run } = useCommandRunner();
  return (
    <button
      type="button"
      data-testid="alarms"
      data-count={count}
      className={`flex items-center gap-1.5 rounded px-1 hover:bg-raised
        ${count > 0 ? "font-semibold text-bad" : "hover:text-text"}`}
      onClick={(event) => {
        run("alarms", { at: event.timeStamp, repeat: false });
      }}
    >
      <TriangleAlert size={13} aria-hidden="true" />{" "}
      {count === 0 ? "No alarms" : count === 1 ? "1 alarm" : `${count} alarms`}
    </button>
  );
};

/** Why nothing is decided here; the list of alarms has the whole of it and what to do. */
const ReadOnly = ({ why }: { readonly why: string }) => {
  const { run } = useCommandRunner();
  const plain = why.replaceAll("`", "");
  return (
    <button
      type="button"
      data-testid="read-only"
      title={plain}
      className="!shrink min-w-24 truncate rounded px-1 font-semibold text-bad hover:bg-raised"
      onClick={(event) => {
        run("alarms", { at: event.timeStamp, repeat: false });
      }}
    >
      Read-only: {plain}
    </button>
  );
};

const THEME_ICON = { system: Monitor, dark: Moon, light: Sun } as const;

const ThemeButton = () => {
  const [theme, setTheme] = useSetting("theme");
  const Icon = THEME_ICON[theme];
  return (
    <button
      type="button"
      className="rounded p-0.5 hover:bg-raised hover:text-text"
      aria-label={`Theme: ${theme}`}
      title={`Theme: ${theme}`}
      onClick={() => {
        setTheme(nextChoice("theme", theme));
      }}
    >
      <Icon size={13} aria-hidden="true" />
    </button>
  );
};

/** What has no room goes to a second line, which is out of sight: nothing is cut in its middle. */
const WHOLE_OR_NOT = "flex h-7 flex-wrap overflow-hidden leading-7 [&>*]:shrink-0";

/** What waits for the second key of a sequence: the next letter is none of its own. */
const OpenSequence = () => {
  const open = useOpenSequence();
  return open === null ? null : (
    <span
      className="shrink-0 font-semibold text-text"
      title="Waiting for the second key; Esc cancels"
      data-testid="open-sequence"
    >
      {open} …
    </span>
  );
};

/** Connection, backlog, what is approved automatically, alarms and operator. */
export const StatusBar = () => {
  const status = useStatus();
  const [singleKeys] = useSetting("singleKeys");
  return (
    <footer
      className={`flex h-7 shrink-0 items-center gap-5 border-t border-line px-3.5 text-[11.5px]
      whitespace-nowrap text-text-3 max-xl:gap-3`}
    >
      {/* In the order of what a person must not miss; it is cut from its end, and only where nothing else can give
          way. */}
      <div className="flex h-full min-w-0 items-center gap-5 overflow-hidden max-xl:gap-3 [&>*]:shrink-0">
        <Connection status={status} />
        {status === null ? null : (
          <>
            {status.bus.insecure.map((word) => (
              <Insecure key={word} word={word} />
            ))}
            {status.readOnly === null ? null : <ReadOnly why={status.readOnly} />}
            <Alarms count={status.alarms.length} />
            {status.outbox > 0 ? <span className="text-warn">{status.outbox} held or being sent</span> : null}
            <Panic panic={status.panic} />
            <Approving status={status} />
            <Controls brakes={status.brakes} />
            {status.reader === null ? null : (
              <span className="max-w-[360px] truncate text-warn" title={status.reader} data-testid="reader">
                {status.reader}
              </span>
            )}
            {singleKeys === "off" ? <span className="text-warn">Single keys are off</span> : null}
            {status.lag === 0 ? null : <span>Queue lag {status.lag}</span>}
          </>
        )}
      </div>
      {/* An element without a width is first: what comes first is never sent to the second line. */}
      <div className={`${WHOLE_OR_NOT} -ml-5 min-w-0 flex-1 gap-x-5 before:h-7 before:w-0 before:content-['']`}>
        {status === null ? null : (
          <>
            {status.lag === 0 ? <span>Queue lag 0</span> : null}
            <Today />
          </>
        )}
      </div>
      <OpenSequence />
      {status === null ? null : (
        <>
          <span className="flex shrink-0" title={plainText(status.operator)}>
            <span className="max-w-32 truncate">
              <ShownText text={status.operator} />
            </span>
            , key {status.operatorKeyTail}
          </span>
          <ThemeButton />
        </>
      )}
    </footer>
  );
};
