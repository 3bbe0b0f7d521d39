import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Confirm } from "../../components/Confirm";
import { Select } from "../../components/Select";
import { ShownText } from "../../components/ShownText";
import { plainText } from "../../components/shown";
import { useDesk } from "../../desk/DeskContext";
import type { AgentToolView, ToolTarget } from "../../ipc/generated";

/** Values of the choice that are not pointers: those begin with `/`. */
const NAME = "name";
const OTHER = "other";

interface TypedTargetProps {
  /** `WORKSPACE/AGENT`. */
  readonly agent: string;
  readonly tool: AgentToolView;
  readonly typed: ToolTarget;
}

const Choice = ({ agent, tool, typed, onClose }: TypedTargetProps & { readonly onClose: () => void }) => {
  const desk = useDesk();
  const queries = useQueryClient();
  const offered =
    typed.pointer === null || typed.offered.includes(typed.pointer) ? typed.offered : [...typed.offered, typed.pointer];
  const [choice, setChoice] = useState(typed.pointer ?? NAME);
  const [other, setOther] = useState("/");
  const choose = async (): Promise<void> => {
    const pointer = choice === NAME ? null : choice === OTHER ? other : choice;
    await desk.call("choose_target", { agent, tool: plainText(tool.name), pointer });
    // An open card asks for it from now on.
    await Promise.all([
      queries.invalidateQueries({ queryKey: ["agents"] }),
      queries.invalidateQueries({ queryKey: ["card"] }),
    ]);
  };
  return (
    <Confirm
      title="What is typed before a critical call?"
      verb="Choose"
      doing="Writing…"
      onConfirm={choose}
      onClose={onClose}
    >
      <p className="mt-0">
        To approve a critical or irreversible call of{" "}
        <code className="font-mono text-xs">
          <ShownText text={tool.name} />
        </code>{" "}
        a person types this first, and so reads it.
      </p>
      <div className="flex flex-wrap items-center gap-2.5 text-text">
        <label>
          Type{" "}
          <Select
            className="border-line py-1 text-text"
            data-testid="target-choice"
            value={choice}
            onChange={(event) => {
              setChoice(event.target.value);
            }}
          >
            <option value={NAME}>the tool’s name</option>
            {offered.map((pointer) => (
              <option key={pointer} value={pointer}>
                the value of {pointer}
              </option>
            ))}
            <option value={OTHER}>the value of another argument</option>
          </Select>
        </label>
        {choice === OTHER ? (
          <input
            className="w-48 rounded-md border border-line bg-bg px-2 py-1 font-mono text-[12.5px] text-text"
            aria-label="JSON pointer to the argument"
            autoComplete="off"
            spellCheck={false}
            value={other}
            onChange={(event) => {
              setOther(event.target.value);
            }}
          />
        ) : null}
      </div>
      <p className="mb-0">
        If the value is missing, long, nested or hidden, the tool’s name is typed. This applies to this console only and
        is audited.
      </p>
    </Confirm>
  );
};

/** What is typed before a critical call of a tool, and the way to choose it. */
export const TypedTarget = (props: TypedTargetProps) => {
  const [open, setOpen] = useState(false);
  const { pointer } = props.typed;
  return (
    <>
      <button
        type="button"
        className="hover:text-text hover:underline"
        title="What is typed before a critical call is approved"
        data-testid="target"
        onClick={() => {
          setOpen(true);
        }}
      >
        type to approve: {pointer === null ? "its name" : <code className="font-mono text-xs">{pointer}</code>}
      </button>
      {open ? (
        <Choice
          {...props}
          onClose={() => {
            setOpen(false);
          }}
        />
      ) : null}
    </>
  );
};
