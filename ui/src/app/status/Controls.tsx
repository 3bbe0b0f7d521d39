import { useCommandRunner } from "../../commands/CommandContext";
import { Kbd } from "../../components/Kbd";
import { ShownText } from "../../components/ShownText";
import type { StatusView } from "../../ipc/generated";

/** Panic, or the key that turns it on. */
export const Panic = ({ panic }: { readonly panic: StatusView["panic"] }) => {
  const { run } = useCommandRunner();
  return panic === null ? (
    <button
      type="button"
      className="flex items-center gap-1.5 rounded px-1 hover:bg-raised hover:text-text"
      title="Turn every automatic approval off"
      data-testid="panic-key"
      onClick={(event) => {
        run("panic", { at: event.timeStamp, repeat: false });
      }}
    >
      Panic <Kbd command="panic" />
    </button>
  ) : (
    <span
      className="min-w-24 !shrink-[0.2] truncate rounded bg-bad-bg px-1.5 font-semibold text-bad"
      data-testid="panic"
    >
      Panic, by <ShownText text={panic} />: nothing is approved automatically
    </span>
  );
};

/** Paused and stopped agents: one by its name, several by their number. */
export const Controls = ({ brakes }: { readonly brakes: StatusView["brakes"] }) => {
  const [first] = brakes;
  if (first === undefined) return null;
  const all = brakes.map((brake) => `${brake.agent} ${brake.stopped ? "stopped" : "paused"}`).join("\n");
  return (
    <span className="min-w-16 !shrink truncate font-semibold text-warn" data-testid="control" title={all}>
      {brakes.length === 1 ? (
        <>
          {first.agent} {first.stopped ? "stopped" : "paused"} by <ShownText text={first.by} />
        </>
      ) : (
        `${brakes.length} agents paused or stopped`
      )}
    </span>
  );
};
