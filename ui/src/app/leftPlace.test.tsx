import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { historyRow, ruleRow, setupForm, setupKey, setupLine, shown, story } from "../../test/build";
import { fakeConsole } from "../../test/fakeTransport";
import { asSaved, clicks, goes, later, press, rules, saves, settle, typed } from "../../test/ruleEditor";
import type { DeniedCalls, RegretOutcome, RemovedRule, SavedRule, SetupSaved } from "../ipc/generated";
import { CallError } from "../ipc/transport";
import { App } from "./App";

const DENIED: DeniedCalls = { count: 2, calls: [] };
const LIMITS = new CallError("verdict_not_allowed", "others approve less");
const reported = (): (string | undefined)[] =>
  screen.queryAllByTestId("late-failure").map((one) => one.querySelector("span")?.textContent ?? undefined);
const elsewhere = async (): Promise<void> => {
  for (const key of ["g", "h"]) press(key);
  await screen.findByTestId("history-count");
};
const yes = async (): Promise<void> => {
  fireEvent.click(await screen.findByTestId("confirm-yes"));
};
const closes = async (): Promise<void> => {
  press("Escape");
  await waitFor(() => {
    expect(screen.queryByRole("dialog")).toBeNull();
  });
};

describe("what was not done is reported to who has left the place by then:", () => {
  const answers: [string, Partial<SavedRule> | CallError, string][] = [
    [
      "that it would allow what people denied",
      { version: null, denied: DENIED },
      "Nothing was changed: it would allow 2 calls that people denied.",
    ],
    [
      "that somebody else changed it",
      { version: null, conflict: { id: "small", version: 4, text: "" } },
      "Nothing was changed: somebody else changed it meanwhile.",
    ],
    [
      "that somebody else removed it",
      { version: null, gone: true },
      "Nothing was changed: somebody else removed it meanwhile.",
    ],
    ["that it changes other rules", LIMITS, "Nothing was changed: others approve less."],
    [
      "that it is unproven",
      new CallError("not_armed", "no whole simulation"),
      "Nothing was changed: no whole simulation.",
    ],
    [
      "that the bus is away",
      new CallError("bus_unreachable", "the bus cannot be reached"),
      "It failed: the bus cannot be reached",
    ],
  ];
  it.each(answers)("of a rule, %s", async (_, answer, why) => {
    const answered = later<SavedRule>();
    await rules([ruleRow()], { save_rule: () => answered.promise });
    await clicks("Turn off");
    await elsewhere();
    if (answer instanceof CallError) answered.reject(answer);
    else answered.resolve(asSaved(answer));
    await waitFor(() => {
      expect(reported()).toEqual([`Turn off the rule small? ${why}`]);
    });
  });

  it("of a rule that was to be removed", async () => {
    const answered = later<RemovedRule>();
    await rules([ruleRow()], { remove_rule: () => answered.promise });
    await clicks("Remove…");
    await yes();
    await closes();
    await elsewhere();
    answered.resolve({ denied: DENIED, waiting: null });
    await waitFor(() => {
      expect(reported()).toEqual([
        "Remove the rule small? Nothing was changed: it would allow 2 calls that people denied.",
      ]);
    });
  });

  it.each<[string, SetupSaved | CallError, string]>([
    [
      "that somebody else changed it",
      { type: "conflict", form: setupForm({ revision: 8 }) },
      "Nothing was saved; your text is kept: somebody else changed it meanwhile.",
    ],
    [
      "that a value is wrong",
      { type: "refused", problems: [{ key: "limit", path: shown("limit"), message: shown("must be a whole number") }] },
      "Nothing was saved; your text is kept: limit: must be a whole number",
    ],
    [
      "that the bus is away",
      new CallError("bus_unreachable", "the bus cannot be reached"),
      "It failed: the bus cannot be reached",
    ],
  ])("of a setup, %s", async (_, answer, why) => {
    window.location.hash = "#/setup";
    const answered = later<SetupSaved>();
    const form = setupForm({ declared: { type: "keys", keys: [setupKey({ key: "limit", kind: "int" })] } });
    render(
      <App
        transport={fakeConsole({
          answers: {
            setup_list: () => ({ agents: [setupLine({ key: form.key })] }),
            setup_of: () => form,
            setup_save: () => answered.promise,
          },
        })}
      />,
    );
    fireEvent.change((await screen.findByTestId("setup-key")).querySelector("input") as HTMLInputElement, {
      target: { value: "5" },
    });
    fireEvent.click(screen.getByTestId("setup-save"));
    await elsewhere();
    if (answer instanceof CallError) answered.reject(answer);
    else answered.resolve(answer);
    await waitFor(() => {
      expect(reported()).toEqual([`Save the setup of acme/bot? ${why}`]);
    });
  });

  it("of a decision that was called wrong", async () => {
    window.location.hash = "#/history/request?key=acme%2Fbot%2Fr8";
    const answered = later<RegretOutcome>();
    render(
      <App
        transport={fakeConsole({
          answers: {
            request_story: () => story({ row: historyRow(8, { origin: shown("rule"), rule: shown("never") }) }),
            regret: () => answered.promise,
          },
        })}
      />,
    );
    fireEvent.click(await screen.findByText("This was wrong…"));
    await yes();
    await closes();
    await elsewhere();
    answered.resolve({ suspended: null, denied: { count: null, calls: [] } });
    await waitFor(() => {
      expect(reported()).toEqual([
        "Mark this automatic decision as wrong? Nothing was changed: the check for calls that people denied took too long.",
      ]);
    });
  });
});

it("a late answer opens no dialog for who has closed the one that asked", async () => {
  const answered = later<RemovedRule>();
  await rules([ruleRow()], { remove_rule: () => answered.promise });
  await clicks("Remove…");
  await yes();
  await closes();
  answered.resolve({ denied: DENIED, waiting: null });
  await waitFor(() => {
    expect(reported()).toHaveLength(1);
  });
  await settle();
  expect(screen.queryByRole("dialog")).toBeNull();
});

it("each late failure is reported until it was seen, also where another one follows", async () => {
  const answered = later<SavedRule>();
  await rules([ruleRow(), ruleRow({ id: "other" })], {
    save_rule: ({ text }) =>
      answered.promise.then(() => {
        throw new CallError("failed", text.includes("other") ? "two" : "one");
      }),
  });
  await clicks("Turn off");
  await goes("j", "other");
  await typed("# other\n");
  await saves("# more\n");
  await elsewhere();
  answered.resolve(asSaved());
  const both = ["Turn off the rule small? It failed: one", "Save the rule other? It failed: two"];
  await waitFor(() => {
    expect(reported()).toEqual(both);
  });
  fireEvent.click(within(screen.getAllByTestId("late-failure")[0] as HTMLElement).getByText("Dismiss"));
  expect(reported()).toEqual(both.slice(1));
});

it("a try of a dialog that is closed gives the next dialog nothing that would be accepted in it", async () => {
  const tries: ReturnType<typeof later<RemovedRule>>[] = [];
  const console = await rules([ruleRow()], {
    remove_rule: () => {
      const one = later<RemovedRule>();
      tries.push(one);
      return one.promise;
    },
  });
  await clicks("Remove…");
  await yes();
  await closes();
  await clicks("Remove…");
  await screen.findByTestId("confirm-yes");
  await act(async () => {
    tries[0]?.reject(LIMITS);
    await Promise.resolve();
  });
  await waitFor(() => {
    expect(reported()).toEqual(["Remove this rule? It failed: others approve less"]);
  });
  expect(screen.getByTestId("confirm-yes").textContent).toBe("Remove");
  await yes();
  expect(console.argsOf("remove_rule").map((args) => args.acceptLimits)).toEqual([false, false]);
});
