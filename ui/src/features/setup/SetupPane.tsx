import { Button } from "../../components/Button";
import { Section } from "../../components/Section";
import { ShownText } from "../../components/ShownText";
import { useLost, useStatus } from "../../desk/DeskContext";
import type { SetupForm } from "../../ipc/generated";
import { groupsOf, keysOf } from "./drafts";
import { KeyRow } from "./KeyRow";
import { Leftovers } from "./Leftovers";
import { SetAt } from "./SetAt";
import { useSetupForm, type SetupFormState } from "./useSetupForm";
import { Region } from "../../components/Region";

const Undeclared = ({ form }: { readonly form: SetupForm }) => {
  const { declared } = form;
  if (declared.type === "nothing") {
    return (
      <p className="m-0 max-w-[640px] text-text-2" data-testid="setup-nothing">
        This agent declares no setup keys, so there is nothing to set. An agent declares them in its hello (
        <code className="font-mono text-xs">setup_schema</code>).
      </p>
    );
  }
  if (declared.type !== "wrong") return null;
  return (
    <div
      role="note"
      className="max-w-[680px] rounded-[7px] border border-warn-line bg-warn-bg px-3 py-2 text-[12.5px] text-warn-text"
      data-testid="setup-wrong"
    >
      <p className="m-0">The agent’s setup schema is invalid, so no key skips asking. Its developer must fix this:</p>
      <ul className="selectable my-1 pl-5">
        {declared.problems.map((problem, place) => (
          // Problems keep the order of the declaration.
          // oxlint-disable-next-line react/no-array-index-key
          <li key={place}>
            <code className="font-mono text-xs">
              <ShownText text={problem.path} />
            </code>{" "}
            <ShownText text={problem.message} />
          </li>
        ))}
      </ul>
    </div>
  );
};

const SaveBar = ({ state, blocked }: { readonly state: SetupFormState; readonly blocked: string | null }) => {
  const count = Object.keys(state.drafts?.typed ?? {}).length;
  const { changed } = state.form ?? {};
  return (
    <div
      className="flex min-h-[63px] flex-wrap items-center justify-end gap-2.5 border-t border-line bg-panel px-7 py-3"
      data-testid="setup-bar"
    >
      <div className="min-w-0 flex-1 basis-64 text-text-2">
        {state.trouble !== null ? (
          <span role="alert" className="text-bad">
            {state.trouble}
          </span>
        ) : blocked !== null ? (
          <span className="text-warn">{blocked}</span>
        ) : state.stale ? (
          <span role="alert" className="text-warn" data-testid="setup-conflict">
            {changed === undefined || changed === null ? "Somebody" : <ShownText text={changed.by} />} changed this
            setup while you were typing. Nothing of yours is saved or lost
            {state.clashes.length > 0 ? `; you both changed ${state.clashes.join(", ")}` : "; you changed other keys"}.
          </span>
        ) : count > 0 ? (
          `${count} ${count === 1 ? "change" : "changes"} not saved`
        ) : (
          "Saved values apply in every console; they are not sent to the agent."
        )}
      </div>
      {count === 0 ? null : (
        <>
          <Button tone="quiet" disabled={state.busy} onClick={state.drop}>
            Discard mine
          </Button>
          {state.stale ? (
            <Button data-testid="setup-keep" onClick={state.keepMine}>
              Keep mine, then save
            </Button>
          ) : (
            <Button
              disabled={state.busy || blocked !== null}
              data-testid="setup-save"
              onClick={() => void state.save()}
            >
              {state.busy ? "Sending to the bus…" : "Save"}
            </Button>
          )}
        </>
      )}
    </div>
  );
};

/** One agent's form. */
export const SetupPane = ({ agent }: { readonly agent: string }) => {
  const state = useSetupForm(agent);
  const lost = useLost();
  const readOnly = useStatus()?.readOnly ?? null;
  const blocked = lost?.message ?? readOnly;
  const { form } = state;
  if (form === undefined)
    return <div className="grid flex-1 place-items-center text-text-3">{state.trouble ?? "Reading…"}</div>;
  return (
    <article
      className="flex min-h-0 flex-1 flex-col"
      aria-label="Setup of an agent"
      data-testid="setup"
      data-key={form.key}
      data-revision={form.revision}
    >
      <header className="border-b border-line px-7 pt-[18px] pb-3.5">
        <div className="mb-1.5 text-xs text-text-3">
          workspace <em className="text-text-2 not-italic">{form.workspace}</em> / agent
        </div>
        <h2 className="selectable m-0 font-mono text-xl/tight font-semibold">{form.agent}</h2>
        <p className="mt-2 mb-0 text-text-2">
          {form.changed === null ? (
            "Nothing set yet"
          ) : (
            <>
              Changed last by <ShownText text={form.changed.by} />, <SetAt ms={form.changed.atMs} />
            </>
          )}
        </p>
        {form.readable ? null : (
          <p role="alert" className="mt-2 mb-0 text-bad">
            The setup on the bus does not verify or cannot be read, so no key skips asking. Saving replaces it.
          </p>
        )}
      </header>
      <Region label="Setup keys" className="flex-1 px-7 py-[18px]">
        <Undeclared form={form} />
        {groupsOf(keysOf(form)).map((group) => (
          <Section key={group.name} title={group.name === "" ? "Without a group" : group.name}>
            {group.keys.map((field) => (
              <KeyRow
                key={field.key}
                field={field}
                agent={form.key}
                draft={state.drafts?.typed[field.key]}
                clash={state.clashes.includes(field.key)}
                problems={state.problems.filter((problem) => problem.key === field.key)}
                disabled={blocked !== null || state.busy}
                onDraft={(draft) => {
                  state.type(field, draft);
                }}
                onBinding={state.bind}
              />
            ))}
          </Section>
        ))}
        {form.leftovers.length === 0 ? null : (
          <Leftovers form={form} disabled={blocked !== null || state.busy} onEdit={state.bind} />
        )}
      </Region>
      <SaveBar state={state} blocked={blocked} />
    </article>
  );
};
