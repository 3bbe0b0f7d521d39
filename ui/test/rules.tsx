/** The screen of the rules, and a card that becomes a rule, as tests open them. */
import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { expect } from "vitest";
import { card, previewReport, row } from "./build";
import { fakeConsole, type FakeConsole } from "./fakeTransport";
import type { Card, PreviewReport, RuleRow, RuleText } from "../src/ipc/generated";
import { App } from "../src/app/App";

export const text = (more: Partial<RuleText> = {}): RuleText => ({
  id: "small",
  version: 3,
  text: 'id = "small"\neffect = "approve"\n',
  ...more,
});

export const tried = (report: PreviewReport): FakeConsole["answers"] => ({
  start_preview: () => ({ number: 1 }),
  preview: () => ({ done: report.total, of: report.total, report, trouble: null }),
});
export const open = async (rules: RuleRow[], answers: FakeConsole["answers"] = {}): Promise<FakeConsole> => {
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
export const enable = () => screen.findByTestId("rule-enable");
export const ready = (label: string) =>
  waitFor(
    () => {
      const button = screen.getByTestId<HTMLButtonElement>("rule-enable");
      expect(button.textContent).toBe(label);
      expect(button.disabled).toBe(false);
    },
    { timeout: 3_000 },
  );

export const remove = async (): Promise<void> => {
  fireEvent.click(await screen.findByText("Remove…"));
  fireEvent.click(await screen.findByTestId("confirm-yes"));
};

export const onCard = async (answers: FakeConsole["answers"], more: Partial<Card> = {}): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows: [row()],
    cards: [card(more)],
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
