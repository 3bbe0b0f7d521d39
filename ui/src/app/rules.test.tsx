import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { card, historyRow, previewReport, row, ruleRow, shown, story, waitingCalls } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { CallError } from "../ipc/transport";
import type { PreviewReport, RuleRow, RuleText } from "../ipc/generated";
import { App } from "./App";

const press = (key: string, more: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
};
const text = (more: Partial<RuleText> = {}): RuleText => ({
  id: "small",
  version: 3,
  text: 'id = "small"\neffect = "approve"\n',
  ...more,
});

const tried = (report: PreviewReport): FakeConsole["answers"] => ({
  start_preview: () => ({ number: 1 }),
  preview: () => ({ done: report.total, of: report.total, report, trouble: null }),
});
const open = async (rules: RuleRow[], answers: FakeConsole["answers"] = {}): Promise<FakeConsole> => {
  window.location.hash = "#/rules";
  const console = fakeConsole({
    answers: {
      rules_list: () => ({ workspace: "acme", workspaces: ["acme", "beta"], revision: 1, rules, serverMs: 0 }),
      rule_text: ({ id }) => text({ id }),
      save_rule: () => ({ id: "small", version: 4, conflict: null, gone: false, denied: null, waiting: null }),
      remove_rule: () => ({ denied: null, waiting: null }),
      ...tried(previewReport()),
      ...answers,
    },
  });
  render(<App transport={console} />);
  await screen.findByTestId(rules.length > 0 ? "rule" : "rules-empty");
  return console;
};
const enable = () => screen.findByTestId("rule-enable");
const ready = (label: string) =>
  waitFor(
    () => {
      const button = screen.getByTestId<HTMLButtonElement>("rule-enable");
      expect(button.textContent).toBe(label);
      expect(button.disabled).toBe(false);
    },
    { timeout: 3_000 },
  );

const remove = async (): Promise<void> => {
  fireEvent.click(await screen.findByText("Remove…"));
  fireEvent.click(await screen.findByTestId("confirm-yes"));
};

const onCard = async (answers: FakeConsole["answers"]): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows: [row()],
    cards: [card()],
    answers: {
      draft_rule: ({ reach }) => text({ version: 0, text: `id = "delete-invoice"\n# ${reach}\n` }),
      rule_text: () => text({ version: 1 }),
      save_rule: () => ({ id: "delete-invoice", version: 1, conflict: null, gone: false, denied: null, waiting: null }),
      ...tried(previewReport({ approve: 3, agreed: 3 })),
      ...answers,
    },
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  return console;
};

describe("the rules", () => {
  it("are counted and narrowed by a filter, and the one that is open stays open", async () => {
    await open([ruleRow({ id: "never" }), ruleRow({ id: "small" }), ruleRow({ id: "other" })]);
    expect(screen.getByTestId("rules-count").textContent).toBe("3 rules");
    fireEvent.change(screen.getByLabelText(/^Filter/u), { target: { value: "OTH" } });
    expect(screen.getAllByTestId("rule-row").map((line) => line.dataset["id"])).toEqual(["other"]);
    expect(window.location.hash).toContain("id=never");
    press("j");
    await waitFor(() => {
      expect(window.location.hash).toContain("id=other");
    });
  });

  it("are listed with what they do, what they did and when they end", async () => {
    await open([
      ruleRow({ id: "never", effect: "deny", uses: 12 }),
      ruleRow({ id: "two", effect: "ask", approvals: 2 }),
      ruleRow({
        id: "small",
        uses: 402,
        today: 18,
        expiresMs: 86_400_000,
        limit: "20 in 1h",
        regrets: 1,
        lastError: shown("the amount is missing"),
      }),
      ruleRow({ id: "over", expiresMs: 0 }),
      ruleRow({ id: "try", state: "shadow", shadows: 31 }),
    ]);
    const lines = screen.getAllByTestId("rule-row").map((line) => line.textContent);
    expect(lines[0]).toContain("12 ever");
    expect(lines[1]).toContain("ask ×2");
    for (const part of ["18 today, 402 ever", "20 in 1h", "1 regret", "last error: the amount is missing"])
      expect(lines[2]).toContain(part);
    expect(lines[3]).toContain("ended");
    expect(lines[4]).toContain("in the shadow: 31");
    press("j");
    await waitFor(() => {
      expect(screen.getByTestId("rule").dataset["id"]).toBe("two");
    });
  });

  it("say what a rule would have done, a denied call first, and ask twice before it is enabled", async () => {
    const console = await open(
      [ruleRow({ state: "off" })],
      tried(
        previewReport({
          total: 100,
          approve: 40,
          agreed: 37,
          denied: 2,
          unseen: 1,
          newlyHigh: 1,
          flips: [
            {
              row: historyRow(3, { verdict: shown("deny"), message: shown("not while the audit runs") }),
              summary: shown("INV-TEST-0"),
              rule: "approve",
            },
          ],
        }),
      ),
    );
    expect((await screen.findByTestId("preview-words", undefined, { timeout: 3_000 })).textContent).toContain(
      "2 approved that a person had denied",
    );
    expect(screen.getByTestId("flips").textContent).toContain("not while the audit runs");
    await ready("Enable anyway…");
    fireEvent.click(await enable());
    expect((await screen.findByTestId("enable")).textContent).toContain("2 calls");
    expect(document.activeElement?.textContent).toContain("Cancel");
    fireEvent.click(screen.getByTestId("enable-next"));
    expect(console.argsOf("save_rule")).toEqual([]);
    fireEvent.click(await screen.findByTestId("enable-yes"));
    await waitFor(() => {
      expect(console.argsOf("save_rule")).toMatchObject([{ state: "on", sure: true, seenVersion: 3 }]);
    });
  });

  it("enable at once what agrees with everybody", async () => {
    const console = await open([ruleRow({ state: "off" })]);
    await ready("Enable");
    fireEvent.click(await enable());
    await waitFor(() => {
      expect(console.argsOf("save_rule")).toMatchObject([{ state: "on", sure: false }]);
    });
  });

  it.each(["rule", "card"])(
    "name the waiting calls that Enable of a %s approves, and want one more yes",
    async (of) => {
      const held = waitingCalls(["acme/bot/r7", "acme/bot/r8"]);
      const more = waitingCalls([...held.keys, "acme/bot/r9"]);
      const save: FakeConsole["answers"]["save_rule"] = ({ acceptWaiting }) => {
        const waiting = acceptWaiting.length === 0 ? held : acceptWaiting.length === 2 ? more : null;
        return {
          id: "small",
          version: waiting === null ? 4 : null,
          conflict: null,
          gone: false,
          denied: null,
          waiting,
        };
      };
      const answers = { save_rule: save, ...tried(previewReport({ approve: 2, unseen: 3, waiting: 2 })) };
      const console = await (of === "rule" ? open([ruleRow({ state: "off" })], answers) : onCard(answers));
      if (of === "card") press("p");
      await ready("Enable");
      expect(screen.getByTestId("preview-words").textContent).toContain(
        "Would approve 2 calls that are still waiting.",
      );
      expect(screen.getByTestId("preview-words").textContent).toContain("1 approved that no person decided.");
      fireEvent.click(await enable());
      const asked = await screen.findByTestId("waiting-calls");
      expect(asked.textContent).toContain("Would approve 2 calls that are still waiting. Nothing was changed.");
      expect(within(asked).getAllByRole("listitem")).toHaveLength(2);
      // Over another dialog it is on ✕, which is a way out too.
      expect(document.activeElement?.closest("[role=dialog]")?.contains(asked)).toBe(true);
      expect(document.activeElement).not.toBe(screen.getByTestId("confirm-yes"));
      const accepted = (): string[][] => console.argsOf("save_rule").map((args) => args.acceptWaiting);
      expect(accepted()).toEqual([[]]);
      // Another call came meanwhile: what was not shown is not accepted.
      fireEvent.click(screen.getByText("Enable and approve all 2"));
      await screen.findByText("Enable and approve all 3");
      expect(accepted()).toEqual([[], held.keys]);
      fireEvent.click(screen.getByTestId("confirm-yes"));
      await waitFor(() => {
        expect(accepted()).toEqual([[], held.keys, more.keys]);
      });
      await waitFor(() => {
        expect(screen.queryByTestId("waiting-calls")).toBeNull();
      });
    },
  );

  it("name the waiting calls that a removal approves, and want one more yes", async () => {
    const held = waitingCalls(["acme/bot/r7"]);
    const console = await open([ruleRow({ effect: "ask" })], {
      remove_rule: ({ acceptWaiting }) => ({ denied: null, waiting: acceptWaiting.length === 1 ? null : held }),
    });
    await remove();
    expect((await screen.findByTestId("waiting-calls")).textContent).toContain("1 call that is still waiting");
    fireEvent.click(screen.getByText("Remove and approve it"));
    await waitFor(() => {
      expect(console.argsOf("remove_rule").map((args) => [args.acceptDenied, args.acceptWaiting])).toEqual([
        [false, []],
        [false, held.keys],
      ]);
    });
  });

  it("show progress, and a stop leaves the rule unproven", async () => {
    let stopped = false;
    const console = await open([ruleRow({ state: "off" })], {
      preview: () => ({
        done: 500,
        of: 1_000,
        report: null,
        trouble: stopped ? "the simulation: it was cancelled" : null,
      }),
      stop_preview: () => {
        stopped = true;
        return {};
      },
    });
    await waitFor(
      () => {
        expect(screen.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("50");
      },
      { timeout: 3_000 },
    );
    fireEvent.click(screen.getByText("Stop"));
    await screen.findByText(/it was cancelled/);
    expect(console.argsOf("stop_preview")).toEqual([{ number: 1 }]);
    await ready("Enable unseen…");
  });

  it("tell of a change by somebody else, and lose neither text", async () => {
    const console = await open([ruleRow({ state: "off" })], {
      save_rule: ({ seenVersion }) =>
        seenVersion === 3
          ? {
              id: "small",
              version: null,
              conflict: text({ version: 4, text: 'id = "small"\neffect = "deny"\n' }),
              gone: false,
              denied: null,
              waiting: null,
            }
          : { id: "small", version: 5, conflict: null, gone: false, denied: null, waiting: null },
    });
    await ready("Enable");
    fireEvent.click(screen.getByText("Run in shadow"));
    const conflict = await screen.findByTestId("conflict");
    expect(conflict.textContent).toContain("version 4 stands");
    expect(conflict.textContent).toContain('effect = "deny"');
    expect(screen.getByTestId("rule-desk").querySelector(".cm-content")?.textContent).toContain("approve");
    fireEvent.click(within(conflict).getByText("Put mine over it"));
    await ready("Enable");
    fireEvent.click(screen.getByText("Run in shadow"));
    await waitFor(() => {
      expect(console.argsOf("save_rule").at(-1)).toMatchObject({ seenVersion: 4, state: "shadow" });
    });
  });

  it("name the line of a problem and can then be neither saved nor tried", async () => {
    const console = await open([ruleRow({ state: "off" })], {
      check_rule: () => ({
        problems: [{ line: 2, column: 1, place: shown("effect"), message: shown("must be deny, ask or approve") }],
        effect: null,
        state: null,
      }),
    });
    expect((await screen.findByText(/^Line 2:/)).textContent).toContain("effect must be deny, ask or approve");
    expect(screen.getByTestId<HTMLButtonElement>("rule-enable").disabled).toBe(true);
    expect(console.argsOf("start_preview")).toEqual([]);
  });

  it("are removed only after one more question", async () => {
    const console = await open([ruleRow()]);
    fireEvent.click(await screen.findByText("Remove…"));
    expect(console.argsOf("remove_rule")).toEqual([]);
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await waitFor(() => {
      expect(console.argsOf("remove_rule")).toEqual([
        { workspace: "acme", id: "small", acceptLimits: false, acceptDenied: false, acceptWaiting: [] },
      ]);
    });
  });

  it.each([
    ["Turn off", "save_rule"],
    ["Run in shadow", "save_rule"],
    ["Remove…", "remove_rule"],
  ] as const)("name what people denied before %s lets it run, and want one more yes", async (verb, command) => {
    const flipped = {
      row: historyRow(3, { verdict: shown("deny"), message: shown("not this quarter") }),
      summary: shown("INV-1"),
      rule: "approve" as const,
    };
    const held = { count: 2, calls: [flipped] };
    const console = await open([ruleRow({ effect: "deny" })], {
      check_rule: () => ({ problems: [], effect: "deny", state: "on" }),
      save_rule: ({ acceptDenied }) => ({
        id: "small",
        version: acceptDenied ? 4 : null,
        conflict: null,
        gone: false,
        denied: acceptDenied ? null : held,
        waiting: null,
      }),
      remove_rule: ({ acceptDenied }) => ({ denied: acceptDenied ? null : held, waiting: null }),
    });
    const button = await screen.findByText<HTMLButtonElement>(verb);
    await waitFor(
      () => {
        expect(button.disabled).toBe(false);
      },
      { timeout: 3_000 },
    );
    fireEvent.click(button);
    if (command === "remove_rule") fireEvent.click(await screen.findByTestId("confirm-yes"));
    const asked = await screen.findByTestId("denied-calls");
    for (const part of ["2 calls", "INV-1", "not this quarter", "and 1 more", "Nothing was changed"])
      expect(asked.textContent).toContain(part);
    expect(document.activeElement?.textContent).toContain("Cancel");
    const accepted = (): boolean[] => console.argsOf(command).map((args) => args.acceptDenied);
    expect(accepted()).toEqual([false]);
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await waitFor(() => {
      expect(accepted()).toEqual([false, true]);
    });
    await waitFor(() => {
      expect(screen.queryByTestId("denied-calls")).toBeNull();
    });
  });

  it("ask about each reason by itself where a change lets run what people denied and changes other rules", async () => {
    const console = await open([ruleRow({ effect: "deny" })], {
      save_rule: ({ acceptDenied, acceptLimits }) => {
        if (acceptDenied && !acceptLimits) throw new CallError("verdict_not_allowed", "others approve less");
        return {
          id: "small",
          version: acceptLimits ? 4 : null,
          conflict: null,
          gone: false,
          denied: acceptLimits ? null : { count: null, calls: [] },
          waiting: null,
        };
      },
    });
    const off = await screen.findByText<HTMLButtonElement>("Turn off");
    await waitFor(
      () => {
        expect(off.disabled).toBe(false);
      },
      { timeout: 3_000 },
    );
    fireEvent.click(off);
    expect((await screen.findByTestId("denied-calls")).textContent).toContain("could not be told in time");
    fireEvent.click(screen.getByTestId("confirm-yes"));
    expect((await screen.findByTestId("limits")).textContent).toContain("others approve less");
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await waitFor(() => {
      expect(console.argsOf("save_rule").at(-1)).toMatchObject({
        state: "off",
        acceptDenied: true,
        acceptLimits: true,
      });
    });
  });

  it("ask twice where the console knows of no whole simulation, whatever this window has seen", async () => {
    const console = await open([ruleRow({ state: "off" })], {
      save_rule: ({ sure }) => {
        if (!sure) throw new CallError("not_armed", "no whole simulation");
        return { id: "small", version: 4, conflict: null, gone: false, denied: null, waiting: null };
      },
    });
    await ready("Enable");
    fireEvent.click(await enable());
    fireEvent.click(await screen.findByTestId("enable-next"));
    fireEvent.click(await screen.findByTestId("enable-yes"));
    await waitFor(() => {
      expect(console.argsOf("save_rule").map((args) => args.sure)).toEqual([false, true]);
    });
  });

  it("are explained while there is none, and begin with C", async () => {
    const console = await open([]);
    press("c");
    await screen.findByText("New rule");
    await waitFor(() => {
      expect(console.argsOf("check_rule").at(-1)?.text).toContain('id = "my-rule"');
    });
  });

  it("are not removed with what changes for others where that was told in a dialog that is closed", async () => {
    let fails!: () => void;
    const console = await open([ruleRow()], {
      remove_rule: () =>
        new Promise((_, reject) => {
          fails = () => {
            reject(new CallError("verdict_not_allowed", "others approve less"));
          };
        }),
    });
    await remove();
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByTestId("confirm")).toBeNull();
    });
    act(() => {
      fails();
    });
    fireEvent.click(within(await screen.findByTestId("late-failure")).getByText("Seen"));
    await remove();
    expect(console.argsOf("remove_rule").map((args) => args.acceptLimits)).toEqual([false, false]);
  });

  it("become a matrix that names what a cell depends on", async () => {
    const cell = { outcome: "ask" as const, rule: null, bypass: false, approvals: 1, depends: [], held: null };
    await open([ruleRow()], {
      matrix: () => ({
        workspace: "acme",
        risks: ["low", "critical"],
        more: 0,
        policyDigest: "sha256:aa",
        rows: [
          {
            agent: "bot",
            tool: shown("pay⟨U+202E⟩"),
            risk: "low",
            cells: [{ ...cell, outcome: "approve", rule: "small", depends: ["big"] }, cell],
          },
        ],
      }),
    });
    press("m");
    const line = await screen.findByTestId("matrix-row");
    expect(line.textContent).toContain("approvesmallor as big says");
    expect(line.textContent).toContain("U+202E");
    press("Escape");
    await screen.findByTestId("rule");
  });
});

describe("a card", () => {
  it("becomes the narrowest rule with P, for its thread or for all, with its effect at once", async () => {
    const console = await onCard({});
    press("p");
    await waitFor(() => {
      expect(console.argsOf("draft_rule")).toEqual([{ key: "acme/billing-bot/r1", reach: "thread", days: null }]);
    });
    expect((await screen.findByTestId("preview-words", undefined, { timeout: 3_000 })).textContent).toContain(
      "3 approved as people did",
    );
    fireEvent.click(screen.getByLabelText(/^Always/));
    await waitFor(
      () => {
        expect(console.argsOf("start_preview").at(-1)?.text).toContain("always");
      },
      { timeout: 3_000 },
    );
    await ready("Enable");
    fireEvent.click(await enable());
    expect((await screen.findByTestId("grant-done")).textContent).toContain("delete-invoice");
    expect(console.argsOf("save_rule")).toMatchObject([{ workspace: "acme", seenVersion: null, state: "on" }]);
    expect(console.argsOf("decide")).toEqual([]);
  });

  it("answers W with the rule, the near misses, the setup key and the digest", async () => {
    await onCard({
      why: () => ({
        decided: null,
        now: {
          policyDigest: "sha256:4be1",
          outcome: "ask",
          rule: null,
          approvals: 1,
          held: null,
          matched: [],
          near: [{ id: "read-only", version: 2, name: shown("Read-only"), effect: "approve", matcher: shown("risk") }],
          setup: { key: shown("allow_dangerous"), state: "differs", value: shown("false"), skipsWhen: shown("true") },
        },
      }),
    });
    press("w");
    const why = await screen.findByTestId("why");
    await waitFor(() => {
      expect(why.textContent).toContain("read-only nearly let it run: its risk is another");
    });
    expect(why.textContent).toContain("allow_dangerous is false; it would have let it pass as true");
    expect(why.textContent).toContain("sha256:4be1");
  });
});

const near = (id: string, matcher: string) => ({
  id,
  version: 1,
  name: shown(id),
  effect: "approve" as const,
  matcher: shown(matcher),
});

describe("beside a card", () => {
  it("a rule for another tool or agent alone is not told as a near one: W lists it", async () => {
    await onCard({
      why: () => ({
        decided: null,
        now: {
          policyDigest: "sha256:4be1",
          outcome: "ask",
          rule: null,
          approvals: 1,
          held: null,
          matched: [],
          setup: null,
          near: [near("small", "risk"), near("other-tool", "tool"), near("other-agent", "agent")],
        },
      }),
    });
    const beside = await screen.findByTestId("reasons");
    expect(
      within(beside)
        .getAllByTestId("near")
        .map((line) => line.textContent),
    ).toEqual(["small nearly let it run: its risk is another."]);
    expect(beside.textContent).not.toContain("more that nearly matched");
    press("w");
    expect(within(await screen.findByTestId("why")).getAllByTestId("near")).toHaveLength(3);
  });
});

describe("an automatic decision", () => {
  it("is called wrong only after one more question, which suspends what decided", async () => {
    window.location.hash = "#/history/request?key=acme%2Fbot%2Fr8";
    const console = fakeConsole({
      answers: {
        request_story: () => story({ row: historyRow(8, { origin: shown("rule"), rule: shown("small") }) }),
        regret: () => ({ suspended: { what: "rule", id: shown("small") }, denied: null }),
      },
    });
    render(<App transport={console} />);
    fireEvent.click(await screen.findByText("This was wrong…"));
    fireEvent.change(await screen.findByLabelText("Why"), { target: { value: "a live invoice" } });
    expect(console.argsOf("regret")).toEqual([]);
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await screen.findByText(/Recorded as wrong/);
    expect(console.argsOf("regret")).toEqual([{ key: "acme/bot/r8", reason: "a live invoice", acceptDenied: false }]);
  });

  it("that denied names what people denied and would run without it, and wants one more yes", async () => {
    window.location.hash = "#/history/request?key=acme%2Fbot%2Fr8";
    const console = fakeConsole({
      answers: {
        request_story: () =>
          story({ row: historyRow(8, { origin: shown("rule"), rule: shown("never"), verdict: shown("deny") }) }),
        regret: ({ acceptDenied }) =>
          acceptDenied
            ? { suspended: { what: "rule", id: shown("never") }, denied: null }
            : { suspended: null, denied: { count: null, calls: [] } },
      },
    });
    render(<App transport={console} />);
    fireEvent.click(await screen.findByText("This was wrong…"));
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await screen.findByTestId("denied-calls");
    expect(screen.queryByText(/Recorded as wrong/)).toBeNull();
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await screen.findByText(/Recorded as wrong/);
    expect(console.argsOf("regret").map((args) => args.acceptDenied)).toEqual([false, true]);
    await waitFor(() => {
      expect(screen.queryByTestId("denied-calls")).toBeNull();
    });
  });

  it("of a person cannot be called wrong", async () => {
    window.location.hash = "#/history/request?key=acme%2Fbot%2Fr8";
    render(<App transport={fakeConsole({ answers: { request_story: () => story() } })} />);
    await screen.findByTestId("story");
    expect(screen.queryByTestId("regret")).toBeNull();
  });
});
