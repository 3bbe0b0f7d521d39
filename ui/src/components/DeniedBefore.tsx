import { Link } from "@tanstack/react-router";
import { formatAgo } from "../desk/clock";
import { useServerSecond } from "../desk/DeskContext";
import type { DeniedView } from "../ipc/generated";
import { ShownText } from "./ShownText";

/** The newest like call that was denied: who, which, how long ago and why. */
export const DeniedBefore = ({ denied, exact }: { readonly denied: DeniedView; readonly exact: boolean }) => {
  const now = useServerSecond();
  return (
    <span data-testid="denied-before">
      {denied.by === null ? "A person" : <ShownText text={denied.by} />} denied{" "}
      <Link to="/history/request" search={{ key: denied.key }} className="underline">
        {exact ? "this exact call" : "a call like this"}
      </Link>{" "}
      <span data-ticks="">{formatAgo(now - denied.atMs)}</span>
      {denied.why === null ? null : (
        <>
          : <ShownText text={denied.why} />
        </>
      )}
    </span>
  );
};
