import { ShownText } from "../../components/ShownText";
import { formatAgo } from "../../desk/clock";
import type { GateView } from "../../ipc/generated";

/** What the last probe found of the gate in front of an agent's program. */
export const Gate = ({ gate, nowMs }: { readonly gate: GateView; readonly nowMs: number }) => (
  <p
    className={`mt-2 mb-0 ${gate.open === null ? "text-text-2" : "font-semibold text-bad"}`}
    role={gate.open === null ? undefined : "note"}
    data-testid="gate"
  >
    {gate.open === null ? null : (
      <>
        Gate open: <ShownText text={gate.open} />
      </>
    )}
    {gate.open !== null && gate.heldMs !== null ? " · " : null}
    {gate.heldMs === null ? null : `Gate last held ${formatAgo(nowMs - gate.heldMs)}`}
  </p>
);
