import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Button } from "../../components/Button";
import { Failed } from "../../components/Failed";
import { Overlay } from "../../components/Overlay";
import { Select } from "../../components/Select";
import { useDesk } from "../../desk/DeskContext";
import type { ReaderFound } from "../../ipc/generated";
import { nameOf, READER } from "./readers";

interface UseReaderProps {
  readonly reader: ReaderFound;
  readonly workspaces: readonly string[];
  readonly onClose: () => void;
}

/** Lets a known program read the calls of some workspaces; where arguments leave this machine its host is typed. */
export const UseReader = ({ reader, workspaces, onClose }: UseReaderProps) => {
  const desk = useDesk();
  const client = useQueryClient();
  const id = useId();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [model, setModel] = useState(reader.models[0]?.name ?? null);
  const [typed, setTyped] = useState("");
  const use = useMutation({
    mutationFn: () => desk.call("use_reader", { name: reader.name, workspaces: [...chosen], model, typed }),
    onSuccess: (now) => {
      client.setQueryData(READER, now);
      onClose();
    },
  });
  const host = reader.outside ?? reader.models.find((one) => one.name === model)?.outside ?? null;
  const whose = chosen.length === 0 ? "the chosen workspaces" : chosen.join(", ");
  const ready = chosen.length > 0 && (host === null || typed === host) && !use.isPending;
  return (
    <Overlay title={`Use ${nameOf(reader)}`} onClose={onClose}>
      <p className="mt-0 text-text-2">
        {host === null
          ? `Arguments of ${whose} go to ${nameOf(reader)}, on this machine.`
          : `Arguments of ${whose} leave this machine, to ${host}.`}{" "}
        What the card hides is hidden there too.
        {reader.name === "claude-code"
          ? " It adds a folder with a random name, your system, account and device. Your organization’s settings still apply."
          : ""}
      </p>
      <fieldset className="m-0 mb-3 flex flex-wrap gap-x-5 gap-y-1.5 border-0 p-0">
        <legend className="mb-1 p-0 font-semibold">Workspaces whose calls it reads</legend>
        {workspaces.map((name) => (
          <label key={name} className="flex items-center gap-2">
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={(event) => {
                const { checked } = event.target;
                setChosen((before) => (checked ? [...before, name] : before.filter((other) => other !== name)));
              }}
            />
            {name}
          </label>
        ))}
      </fieldset>
      {reader.models.length === 0 ? null : (
        <label className="mb-3 flex items-center gap-2">
          Model
          <Select
            className="py-1"
            value={model ?? ""}
            onChange={(event) => {
              setModel(event.target.value);
            }}
          >
            {reader.models.map((one) => (
              <option key={one.name}>{one.name}</option>
            ))}
          </Select>
        </label>
      )}
      {host === null ? null : (
        <label className="mb-3 block" htmlFor={id}>
          Type {host} to send arguments there
          <input
            id={id}
            className="mt-1 block w-full rounded-md border border-line bg-panel px-2 py-1 font-mono"
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value);
            }}
          />
        </label>
      )}
      <Failed error={use.error} />
      <div className="mt-5 flex justify-end gap-2.5">
        {/* oxlint-disable-next-line jsx-a11y/no-autofocus -- a stray Enter must do nothing */}
        <Button autoFocus onClick={onClose}>
          Cancel <kbd className="kbd">Esc</kbd>
        </Button>
        <Button
          disabled={!ready}
          data-testid="use-reader"
          onClick={() => {
            use.mutate();
          }}
        >
          {use.isPending ? "Asking it about a made-up card…" : "Use"}
        </Button>
      </div>
    </Overlay>
  );
};
