import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId } from "react";
import { Failed } from "../../components/Failed";
import { useDesk } from "../../desk/DeskContext";
import type { PracticeView } from "../../ipc/generated";
import { Part } from "./Part";

const OFTEN: readonly number[] = [20, 40, 100];
const QUERY = ["practice"];

/** What was set on the command line is a choice too. */
const choices = ({ on, oneIn }: PracticeView): readonly number[] =>
  !on || OFTEN.includes(oneIn) ? OFTEN : [...OFTEN, oneIn].toSorted((a, b) => a - b);

interface ChoiceProps {
  readonly name: string;
  readonly label: string;
  readonly chosen: boolean;
  readonly choose: () => void;
}

const Choice = ({ name, label, chosen, choose }: ChoiceProps) => (
  <label className="flex items-center gap-2">
    <input type="radio" name={name} checked={chosen} onChange={choose} />
    {label}
  </label>
);

/** The switch of practice cards: the console's, not the window's. */
export const PracticeSettings = () => {
  const desk = useDesk();
  const client = useQueryClient();
  const id = useId();
  const { data, error } = useQuery({ queryKey: QUERY, queryFn: () => desk.call("practice", {}), staleTime: 0 });
  const change = useMutation({
    mutationFn: (to: { on: boolean; oneIn: number }) => desk.call("set_practice", to),
    onSuccess: (now) => client.setQueryData(QUERY, now),
  });
  return (
    <Part title="Practice" from="takes effect at once; audited">
      <Failed error={error ?? change.error} />
      {data === undefined ? null : (
        <div
          className="grid grid-cols-[220px_minmax(0,1fr)] narrow:grid-cols-1 gap-x-5 py-3"
          role="radiogroup"
          aria-labelledby={id}
          data-testid="setting-practice"
        >
          <div id={id} className="font-semibold">
            Practice cards
          </div>
          <div>
            <div className="flex flex-wrap gap-5">
              <Choice
                name={id}
                label="Off"
                chosen={!data.on}
                choose={() => {
                  change.mutate({ on: false, oneIn: data.oneIn });
                }}
              />
              {choices(data).map((oneIn) => (
                <Choice
                  key={oneIn}
                  name={id}
                  label={`1 card in ${oneIn}`}
                  chosen={data.on && data.oneIn === oneIn}
                  choose={() => {
                    change.mutate({ on: true, oneIn });
                  }}
                />
              ))}
            </div>
            <p className="mt-1.5 mb-0 text-[11.5px] text-text-3">
              Copies of calls that people approved here, most with one change. They are never sent or run; the answer
              shows the change.
            </p>
          </div>
        </div>
      )}
    </Part>
  );
};
