import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useDesk } from "../../desk/DeskContext";
import type { SetupEdit, SetupForm, SetupKeyView, SetupProblem } from "../../ipc/generated";
import { CallError, toCallError } from "../../ipc/transport";
import { plainText } from "../../components/shown";
import { useEdit, type Answer } from "../../components/useEdit";
import { clashes, editsOf, leftAfter, setupDrafts, typedWith, type Draft, type Drafts } from "./drafts";

/** Others change a setup without a word to this window: it is read again after this time. */
const AGAIN_MS = 3_000;

export interface SetupFormState {
  readonly form: SetupForm | undefined;
  readonly trouble: string | null;
  readonly drafts: Drafts | undefined;
  /** Somebody else changed the setup since the first of these drafts was typed. */
  readonly stale: boolean;
  readonly clashes: readonly string[];
  readonly problems: readonly SetupProblem[];
  readonly busy: boolean;
  readonly type: (key: SetupKeyView, draft: Draft | null) => void;
  /** Saves over the form on which the drafts were typed. */
  readonly save: () => Promise<void>;
  /** The person has seen what others changed: the drafts are meant for that. */
  readonly keepMine: () => void;
  readonly drop: () => void;
  /** Changes a binding at once; throws what went wrong. */
  readonly bind: (edit: SetupEdit) => Promise<void>;
}

const words = (problems: readonly SetupProblem[]): string =>
  problems.map((problem) => `${plainText(problem.path)}: ${plainText(problem.message)}`).join("; ");

/** One agent's setup, what was typed over it, and how both come together. */
export const useSetupForm = (agent: string): SetupFormState => {
  const desk = useDesk();
  const queries = useQueryClient();
  const queryKey = ["setup", agent];
  const { data: form, error } = useQuery({
    queryKey,
    queryFn: () => desk.call("setup_of", { agent }),
    refetchInterval: AGAIN_MS,
    staleTime: 0,
  });
  const edit = useEdit<Drafts, null, readonly SetupProblem[]>({
    drafts: setupDrafts,
    place: agent,
    name: `setup of ${agent}`,
    seenIn: ({ base }) => base.revision,
    stored: form?.revision,
  });
  const { draft: drafts, saving: busy } = edit;
  // After a conflict the newer form is shown, and the drafts are stale.
  const stale = form !== undefined && edit.seen !== form.revision;

  /** Whether it is stored now. What somebody else changed is shown at once. */
  const send = async (
    shown: SetupForm,
    edits: SetupEdit[],
    stored: (form: SetupForm) => void,
  ): Promise<"stored" | "conflict" | readonly SetupProblem[]> => {
    const saved = await desk.call("setup_save", { agent, revision: shown.revision, edits });
    if (saved.type === "refused") return saved.problems;
    if (saved.type === "stored") stored(saved.form);
    queries.setQueryData(queryKey, saved.form);
    void queries.invalidateQueries({ queryKey: ["setups"] });
    return saved.type;
  };

  const save = async (): Promise<void> => {
    if (form === undefined || drafts === undefined || busy) return;
    await edit.save(`Save the setup of ${agent}?`, async (): Promise<Answer<true, null, readonly SetupProblem[]>> => {
      // The bus may take its time: what is typed until it answers is not part of what it stored.
      const done = await send(drafts.base, editsOf(form, drafts), (next) => {
        setupDrafts.keep(agent, leftAfter(setupDrafts.of(agent), drafts, next));
      });
      if (done === "stored") return { saved: true };
      const lost = "Nothing was saved; your text is kept:";
      return done === "conflict"
        ? { conflict: null, late: `${lost} somebody else changed it meanwhile.` }
        : { refused: done, late: `${lost} ${words(done)}` };
    });
  };

  const bind = async (change: SetupEdit): Promise<void> => {
    if (form === undefined) return;
    // Nothing else is sent on the revision that this one ends.
    await edit.during(async () => {
      // The own change is nobody else's: drafts that were typed over the form before it are meant for the one after it.
      const done = await send(form, [change], (next) => {
        const now = setupDrafts.of(agent);
        if (now !== undefined && now.base.revision === form.revision) setupDrafts.keep(agent, { ...now, base: next });
      });
      if (done === "stored") return;
      throw new CallError(
        "failed",
        done === "conflict"
          ? "Somebody else changed this setup; your change was not made. Look at the new values, then try again."
          : words(done),
      );
    });
  };

  return {
    form,
    drafts,
    stale,
    problems: edit.refused ?? [],
    busy,
    save,
    bind,
    trouble: edit.failed ?? (error === null ? null : toCallError(error).message),
    clashes: form === undefined || drafts === undefined || !stale ? [] : clashes(form, drafts),
    type: (key, draft) => {
      if (form === undefined) return;
      edit.put(({ refused }) => ({ refused: refused?.filter((problem) => problem.key !== key.key) ?? null }));
      edit.keep(typedWith(drafts, form, key, draft));
    },
    keepMine: () => {
      if (form !== undefined && drafts !== undefined) edit.keep({ ...drafts, base: form });
    },
    drop: () => {
      edit.put(() => ({ refused: null, failed: null }));
      edit.keep(undefined);
    },
  };
};
