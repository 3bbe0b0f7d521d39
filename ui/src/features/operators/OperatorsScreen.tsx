import { useQuery } from "@tanstack/react-query";
import { ListBeside } from "../../components/ListBeside";
import { useDesk } from "../../desk/DeskContext";
import { OperatorDetail } from "./OperatorDetail";
import { OperatorList } from "./OperatorList";
import { countOf, fits, operatorsOf } from "./operators";

/** Who is there changes without a request: the list is read again after this time. */
const AGAIN_MS = 5_000;

/** Who may decide in the realm, since when, by whom and how far. */
export const OperatorsScreen = () => {
  const desk = useDesk();
  const { data, error, isPending } = useQuery({
    queryKey: ["operators"],
    queryFn: () => desk.call("operators_list", {}),
    refetchInterval: AGAIN_MS,
    staleTime: 0,
  });
  const all = operatorsOf(data?.operators ?? []);
  return (
    <ListBeside
      title="Operators"
      name="operators"
      hint="name, key, state"
      all={all}
      fits={fits}
      pending={isPending}
      error={error}
      count={data === undefined ? "" : countOf(all)}
      empty="The realm log has not been read from the bus yet."
      renderList={({ rows, chosen, onChoose }) => (
        <>
          <OperatorList operators={rows} chosen={chosen} onChoose={onChoose} />
          {data === undefined ? null : (
            <p className="m-0 border-t border-line px-3.5 py-2 text-[11.5px] text-text-3">
              {data.approval
                ? "A newcomer’s key becomes active once an administrator accepts it."
                : "A newcomer is let in by the console of an administrator."}
            </p>
          )}
        </>
      )}
      renderDetail={(one) => <OperatorDetail key={one.key} one={one} nowMs={data?.serverMs ?? 0} />}
    />
  );
};
