/** The screen of the rules with the editor of one of them, as tests use it. */
import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { EditorView } from "@codemirror/view";
import { expect } from "vitest";
import { App } from "../src/app/App";
import type { RuleRow, RuleText, SavedRule } from "../src/ipc/generated";
import { previewReport } from "./build";
import { fakeConsole, type FakeConsole } from "./fakeTransport";

/** Lists are read again every 3 s. */
export const AGAIN = { timeout: 5_000 };

export const press = (key: string, more: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
};

/** An answer that the test gives when it wants. */
export const later = <T,>() => {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
};
export const settle = (ms = 20): Promise<void> =>
  act(async () => {
    await new Promise((done) => {
      setTimeout(done, ms);
    });
  });

const WORDS = 'id = "small"\neffect = "ask"\n';
export const text = (more: Partial<RuleText> = {}): RuleText => ({ id: "small", version: 3, text: WORDS, ...more });
export const asSaved = (more: Partial<SavedRule> = {}): SavedRule => ({
  id: "small",
  version: 4,
  conflict: null,
  gone: false,
  denied: null,
  waiting: null,
  ...more,
});

/** The rules; the list that it gives may be changed. */
export const rules = async (list: RuleRow[], answers: FakeConsole["answers"] = {}): Promise<FakeConsole> => {
  window.location.hash = "#/rules";
  const console = fakeConsole({
    answers: {
      rules_list: ({ workspace }) => ({
        workspace: workspace ?? "acme",
        workspaces: ["acme", "beta"],
        revision: 1,
        rules: workspace === "beta" ? [] : [...list],
        serverMs: 0,
      }),
      rule_text: ({ id }) => text({ id }),
      start_preview: () => ({ number: 1 }),
      preview: () => ({ done: 1, of: 1, report: previewReport(), trouble: null }),
      check_rule: () => ({ problems: [], effect: "ask", state: "on" }),
      ...answers,
    },
  });
  render(<App transport={console} />);
  await screen.findByTestId(list.length > 0 ? "rule" : "rules-empty");
  return console;
};

export const editor = (): Promise<HTMLElement> =>
  waitFor(() => {
    const found = screen.getByTestId("rule-desk").querySelector<HTMLElement>(".cm-content");
    if (found === null) throw new Error("no editor");
    return found;
  });
/** Types at the end, or instead of what is there. */
export const typed = async (words: string, instead = false): Promise<void> => {
  const view = EditorView.findFromDOM(await editor());
  await act(async () => {
    view?.dispatch({
      changes: { from: instead ? 0 : view.state.doc.length, to: view.state.doc.length, insert: words },
    });
    await Promise.resolve();
  });
};
export const shownText = async (): Promise<string> =>
  [...(await editor()).querySelectorAll(".cm-line")].map((line) => line.textContent).join("\n");

export const clicks = async (label: string): Promise<void> => {
  const button = await screen.findByRole<HTMLButtonElement>("button", { name: new RegExp(`^${label}`, "u") });
  await waitFor(
    () => {
      expect(button.disabled).toBe(false);
    },
    { timeout: 3_000 },
  );
  fireEvent.click(button);
};
/** Begins to save; the answer is the test's. */
export const saves = async (words: string): Promise<void> => {
  await typed(words);
  await clicks("Save");
};
export const goes = async (key: string, id: string): Promise<void> => {
  press(key);
  await waitFor(() => {
    expect(screen.getByTestId("rule").dataset["id"]).toBe(id);
  });
};
