import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { previewReport, ruleRow, shown } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import type { RuleChangeView, SuggestionsView, SuggestionView } from "../ipc/generated";
import { CallError } from "../ipc/transport";
import { App } from "./App";

const press = (key: string): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key });
};
const suggestion = (id: string, more: Partial<SuggestionView> = {}): SuggestionView => ({
  id,
  name: shown(`${id} by bot`),
  about: shown(`${id}; bot`),
  args: shown('to: "ada"'),
  approvals: 7,
  operators: [shown("maria"), shown("ann⟨U+200B⟩")],
  firstMs: 0,
  lastMs: 86_400_000,
  rule: { id, version: 0, text: `id = "${id}"\nenabled = "shadow"\neffect = "approve"\n` },
  dismissed: false,
  ...more,
});
const found = (suggestions: SuggestionView[], more: Partial<SuggestionsView> = {}): SuggestionsView => ({
  ready: true,
  looked: 10,
  trouble: null,
  suggestions,
  approvalsMin: 5,
  windowDays: 30,
  ...more,
});

const change = (version: number, more: Partial<RuleChangeView>): RuleChangeView => ({
  kind: "changed",
  version,
  state: null,
  fields: [],
  regret: false,
  by: shown("maria"),
  keyTail: "7Q2F",
  atMs: 86_400_000,
  ...more,
});
const lines = () => screen.getAllByTestId("rule-change").map((line) => line.textContent);

const open = async (answers: FakeConsole["answers"]): Promise<FakeConsole> => {
  window.location.hash = "#/rules";
  const console = fakeConsole({
    answers: {
      rules_list: () => ({ workspace: "acme", workspaces: ["acme"], revision: 1, rules: [ruleRow()], serverMs: 0 }),
      rule_text: ({ id }) => ({ id, version: 3, text: `id = "${id}"\neffect = "approve"\n` }),
      remove_rule: () => ({ denied: null, waiting: null }),
      save_rule: () => ({ id: "pay", version: 1, conflict: null, gone: false, denied: null, waiting: null }),
      dismiss_suggestion: () => ({}),
      start_preview: () => ({ number: 1 }),
      preview: () => ({ done: 1, of: 1, report: previewReport({ approve: 7, agreed: 7 }), trouble: null }),
      ...answers,
    },
  });
  render(<App transport={console} />);
  await screen.findByTestId("rule");
  return console;
};

describe("suggested rules", () => {
  it("say what they rest on and open as a rule in the shadow, with its simulation", async () => {
    const console = await open({ suggestions: () => found([suggestion("pay"), suggestion("mail")]) });
    const line = (await screen.findAllByTestId("suggestion"))[0];
    expect(line?.textContent).toContain("7 approvals by maria and ann");
    expect(line?.textContent).toContain("none denied");
    expect(line?.querySelectorAll(".shown-mark")).toHaveLength(1);
    press("u");
    const pane = await screen.findByTestId("suggested-rule");
    expect(pane.dataset["id"]).toBe("pay");
    await within(pane).findByText(/7 approved, as by people/, {}, { timeout: 3_000 });
    expect(console.argsOf("start_preview").at(-1)?.text).toContain('enabled = "shadow"');
    fireEvent.click(within(pane).getByText("Run in shadow"));
    await waitFor(() => {
      expect(console.argsOf("save_rule")).toMatchObject([{ workspace: "acme", state: "shadow", seenVersion: null }]);
    });
    await waitFor(() => {
      expect(screen.queryByTestId("suggested-rule")).toBeNull();
    });
    press("u");
    press("u");
    expect((await screen.findByTestId("suggested-rule")).dataset["id"]).toBe("mail");
    press("Escape");
    expect((await screen.findByTestId("rule")).dataset["id"]).toBe("small");
  });

  it("go when the rules say what they would have said", async () => {
    let revision = 1;
    const console = await open({
      rules_list: () => ({ workspace: "acme", workspaces: ["acme"], revision, rules: [ruleRow()], serverMs: 0 }),
      suggestions: () => found(revision === 1 ? [suggestion("pay")] : []),
      save_rule: () => {
        revision = 2;
        return { id: "pay", version: 1, conflict: null, gone: false, denied: null, waiting: null };
      },
    });
    await screen.findByTestId("suggestion");
    press("u");
    const shadow = await screen.findByText("Run in shadow");
    await waitFor(
      () => {
        expect((shadow as HTMLButtonElement).disabled).toBe(false);
      },
      { timeout: 3_000 },
    );
    fireEvent.click(shadow);
    await screen.findByTestId("suggestions-empty", {}, { timeout: 3_000 });
    expect(console.argsOf("suggestions").length).toBeGreaterThan(1);
  });

  it("stay dismissed, and come back when somebody wants them", async () => {
    let dismissed = false;
    const console = await open({
      suggestions: () => found([suggestion("pay", { dismissed })]),
      dismiss_suggestion: (args) => {
        dismissed = args.dismissed;
        return {};
      },
    });
    fireEvent.click(await screen.findByText("Dismiss"));
    await screen.findByTestId("suggestions-empty");
    fireEvent.click(screen.getByText("1 dismissed"));
    fireEvent.click(await screen.findByText("Suggest again"));
    await waitFor(() => {
      expect(screen.getByTestId("suggestions").dataset["count"]).toBe("1");
    });
    expect(console.argsOf("dismiss_suggestion").map((args) => [args.id, args.dismissed])).toEqual([
      ["pay", true],
      ["pay", false],
    ]);
  });

  it("say when there will be any, how far the search is, and what went wrong", async () => {
    let view = found([], { ready: false, looked: 1_500 });
    await open({ suggestions: () => view });
    expect(await screen.findByText(/Reading what people approved, 1,500 calls/)).toBeTruthy();
    view = found([]);
    await screen.findByTestId("suggestions-empty", {}, { timeout: 3_000 });
    expect(screen.getByText(/approved at least 5 times in 30 days, never denied/)).toBeTruthy();
  });
});

describe("a rule's page", () => {
  it("shows the last change at once and the others on demand, each with who made it", async () => {
    await open({
      rule_changes: () => ({
        more: false,
        changes: [
          change(3, { state: "off", regret: true }),
          change(2, { fields: [shown("tool"), shown("risk")], by: shown("ann") }),
          change(1, { kind: "made", state: "shadow" }),
        ],
      }),
    });
    await screen.findByTestId("rule-change");
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toContain("version 3: marked as wrong, turned off");
    fireEvent.click(screen.getByText("All 3 changes"));
    expect(lines()[1]).toMatch(/changed tool, riskann …7Q2F/);
    expect(lines()[2]).toContain("created, in shadow");
  });

  it("asks once more before a change of one rule changes what others approve", async () => {
    const why = "your key is limited, so these rules would no longer approve all that they do now: refunds";
    const held = (accepted: boolean): void => {
      if (!accepted) throw new CallError("verdict_not_allowed", why);
    };
    const console = await open({
      save_rule: ({ acceptLimits }) => {
        held(acceptLimits);
        return { id: "small", version: 4, conflict: null, gone: false, denied: null, waiting: null };
      },
      remove_rule: ({ acceptLimits }) => {
        held(acceptLimits);
        return { denied: null, waiting: null };
      },
    });
    const off = await screen.findByText("Turn off");
    await waitFor(
      () => {
        expect((off as HTMLButtonElement).disabled).toBe(false);
      },
      { timeout: 3_000 },
    );
    fireEvent.click(off);
    expect((await screen.findByTestId("limits")).textContent).toContain(why);
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await waitFor(() => {
      expect(console.argsOf("save_rule").map((args) => args.acceptLimits)).toEqual([false, true]);
    });
    await waitFor(() => {
      expect(screen.queryByTestId("limits")).toBeNull();
    });
    fireEvent.click(screen.getByText("Remove…"));
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    expect(await screen.findByText(why)).toBeTruthy();
    fireEvent.click(await screen.findByText("Remove anyway"));
    await waitFor(() => {
      expect(console.argsOf("remove_rule").map((args) => args.acceptLimits)).toEqual([false, true]);
    });
  });
});
