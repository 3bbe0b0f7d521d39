import { useQuery } from "@tanstack/react-query";
import { ListBeside } from "../../components/ListBeside";
import { useDesk } from "../../desk/DeskContext";
import { useStore } from "../../desk/store";
import { fits, setupDrafts } from "./drafts";
import { SetupList } from "./SetupList";
import { SetupPane } from "./SetupPane";

const AGAIN_MS = 3_000;

/** What agents let people set, and which values spare a question. */
export const SetupScreen = () => {
  const desk = useDesk();
  const { data, error, isPending } = useQuery({
    queryKey: ["setups"],
    queryFn: () => desk.call("setup_list", {}),
    refetchInterval: AGAIN_MS,
    staleTime: 0,
  });
  const unsaved = new Set(Object.keys(useStore(setupDrafts.all)));
  const all = data?.agents ?? [];
  return (
    <ListBeside
      title="Setup"
      name="setup"
      hint="workspace, agent"
      all={all}
      fits={fits}
      pending={isPending}
      error={error}
      count={
        `${all.filter((line) => line.keys !== 0).length} of ${all.length} ` +
        `${all.length === 1 ? "agent declares" : "agents declare"} keys`
      }
      // At first the agent that has something to set.
      first={(line) => line.keys !== 0}
      empty="No agent is known yet. The empty inbox says how to connect one."
      renderList={({ rows, chosen, onChoose }) => (
        <SetupList lines={rows} chosen={chosen} unsaved={unsaved} onChoose={onChoose} />
      )}
      renderDetail={(line) => <SetupPane key={line.key} agent={line.key} />}
    />
  );
};
