import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../../components/Button";
import { CommandText } from "../../components/CommandText";
import { Overlay } from "../../components/Overlay";
import { ShownText } from "../../components/ShownText";
import { Day, Moment } from "../../components/Moment";
import { useDesk, useLost, useStatus } from "../../desk/DeskContext";
import type { AlarmItem, AlarmsView } from "../../ipc/generated";
import { toCallError } from "../../ipc/transport";
import { Failed } from "../../components/Failed";

interface ItemProps {
  readonly alarm: AlarmItem;
  readonly onSeen: (id: number) => Promise<void>;
  readonly onClose: () => void;
}

const Item = ({ alarm, onSeen, onClose }: ItemProps) => {
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const lost = useLost();
  const acknowledge = async (): Promise<void> => {
    setBusy(true);
    setTrouble(null);
    try {
      await onSeen(alarm.id);
    } catch (thrown) {
      setTrouble(toCallError(thrown).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <li
      className="row-line py-3 last:border-0"
      data-testid="alarm"
      data-code={alarm.code}
      data-seen={alarm.seen !== null}
    >
      <div className="flex items-baseline gap-2.5">
        <b className={`font-mono text-xs font-semibold ${alarm.seen === null ? "text-bad" : "text-text-2"}`}>
          {alarm.code}
        </b>
        <span className="selectable min-w-0 truncate font-mono text-xs text-text-2">
          {alarm.joined !== null ? (
            <Link to="/operators" className="text-accent hover:underline" onClick={onClose}>
              <ShownText text={alarm.subject} />
            </Link>
          ) : alarm.request === null ? (
            <ShownText text={alarm.subject} />
          ) : (
            <Link
              to="/history/request"
              search={{ key: alarm.request }}
              className="text-accent hover:underline"
              onClick={onClose}
            >
              <ShownText text={alarm.subject} />
            </Link>
          )}
        </span>
        <time className="ml-auto text-[11.5px] whitespace-nowrap text-text-3">
          <Moment ms={alarm.atMs} />
        </time>
      </div>
      <p className="selectable mt-1.5 mb-0">
        {alarm.joined === null ? (
          alarm.happened
        ) : (
          <>
            <ShownText text={alarm.joined.name} /> joined on <Day ms={alarm.joined.fromMs} /> and may decide here.
          </>
        )}
      </p>
      <p className="selectable mt-1 mb-0 text-text-2">
        <CommandText text={alarm.next} />
      </p>
      <div className="mt-2 flex items-center gap-3 text-[11.5px] text-text-3">
        {alarm.seen !== null ? (
          <span>
            Seen <Moment ms={alarm.seen.atMs} /> by {alarm.seen.by === null ? "" : <ShownText text={alarm.seen.by} />}
            {alarm.seen.by === null ? "" : ", "}key {alarm.seen.keyTail}. It stays here until its cause is gone.
          </span>
        ) : alarm.lasts ? (
          <span>This alarm ends with its cause and cannot be acknowledged.</span>
        ) : (
          <Button
            className="!px-2.5 !py-1 !text-xs"
            disabled={busy || lost !== null}
            onClick={() => void acknowledge()}
          >
            {busy ? "Writing…" : "I have seen it"}
          </Button>
        )}
        {trouble === null ? null : (
          <span role="alert" className="text-bad">
            {trouble}
          </span>
        )}
      </div>
    </li>
  );
};

/** Every active alarm, what to do about it, and that it was seen. */
export const AlarmsDialog = ({ onClose }: { readonly onClose: () => void }) => {
  const desk = useDesk();
  const queries = useQueryClient();
  // The status shows every change of what nobody has acknowledged: the list is read again then.
  const standing = (useStatus()?.alarms ?? []).map((alarm) => `${alarm.id}:${alarm.atMs}`).join(" ");
  const queryKey = ["alarms", standing];
  const { data, error, isPending } = useQuery({
    queryKey,
    queryFn: () => desk.call("alarms_list", {}),
    staleTime: 0,
    placeholderData: keepPreviousData,
  });
  const seen = async (id: number): Promise<void> => {
    const alarm = await desk.call("acknowledge_alarm", { id });
    const put = (before: AlarmsView | undefined): AlarmsView | undefined =>
      before && { alarms: before.alarms.map((other) => (other.id === id ? alarm : other)) };
    queries.setQueriesData<AlarmsView>({ queryKey: ["alarms"] }, put);
  };
  const alarms = data?.alarms ?? [];
  const open = alarms.filter((alarm) => alarm.seen === null).length;
  return (
    <Overlay
      title={alarms.length === 0 ? "Alarms" : `Alarms: ${open} to look at, ${alarms.length - open} seen`}
      wide
      onClose={onClose}
    >
      <Failed error={error} className="mt-0" />
      {alarms.length > 0 ? (
        <ul className="-my-3 m-0 list-none p-0" data-testid="alarm-list">
          {alarms.map((alarm) => (
            <Item key={`${alarm.id} ${alarm.code}`} alarm={alarm} onSeen={seen} onClose={onClose} />
          ))}
        </ul>
      ) : error === null ? (
        <p className="m-0 text-text-2" data-testid="alarms-empty">
          {isPending ? "Reading…" : "No alarm is active: every decision is on its way, and no call ran without one."}
        </p>
      ) : null}
    </Overlay>
  );
};
