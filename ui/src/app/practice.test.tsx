import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { settings, shown } from "../../test/build";
import { fakeConsole } from "../../test/fakeTransport";
import { armed, press } from "../../test/hands";
import { becomes, desk, entry } from "../../test/verdicts";
import { fade, wordsOf } from "../features/inbox/sent";
import type { OverviewView, PracticeView } from "../ipc/generated";
import { App } from "./App";

// The test document has no canvas.
vi.mock("uplot", () => ({
  default: class {
    setSize(): void {}
    destroy(): void {}
    setData(): void {}
  },
}));

const EMPTY: OverviewView = {
  sinceMs: 0,
  untilMs: 60_000,
  stepMs: 60_000,
  volume: [],
  verdicts: [],
  paces: [],
  pace: null,
  frontMs: null,
  open: 0,
  expired: 0,
  stalled: 0,
  automatic: 0,
  human: 0,
  inWindow: 0,
  hasty: 0,
  caught: 0,
  people: [],
};

it("an answered practice card says in one line what was changed, and can not be undone", async () => {
  const console = await desk();
  const words = shown("Practice: missed. amount was 1250, the card had 12500 (amount × 10).");
  console.answers.decide = () => ({
    state: "decided",
    verdict: "approve",
    releaseMs: null,
    practice: { right: false, words },
  });
  await armed();
  press("a");
  await becomes("practice");
  expect(screen.getByTestId("practice-answer").textContent).toBe(
    "Practice: missed. amount was 1250, the card had 12500 (amount × 10).",
  );
  expect(entry().textContent).not.toContain("on the bus");
  expect(screen.queryByRole("button", { name: /^Undo/u })).toBeNull();
});

it("the line goes by itself", () => {
  const one = { state: "practice", sinceMs: 0, batch: null, practice: { right: true, words: shown("ok") } };
  const list = [one] as unknown as Parameters<typeof fade>[0];
  expect([fade(list, 11_000).length, fade(list, 12_000).length]).toEqual([1, 0]);
  expect(wordsOf(list[0] as never).rest).toBe("ok");
});

it("the overview has each person's catch rate, and no figure of too few cards", async () => {
  window.location.hash = "#/overview";
  const person = { shown: 40, caught: 24, missed: 6, falseAlarms: 1, dPrime: 2.04, low: 1.2, high: 2.9 };
  const few = { shown: 4, caught: 1, missed: 2, falseAlarms: 0, dPrime: null, low: null, high: null };
  const console = fakeConsole({
    answers: {
      overview: (asked) => ({ ...EMPTY, ...asked }),
      practice: () => ({
        on: true,
        oneIn: 40,
        operators: [
          { name: shown("lena"), key: "UL", ...person },
          { name: shown("ada"), key: "UA", ...few },
        ],
      }),
    },
  });
  render(<App transport={console} />);
  const rows = within(await screen.findByTestId("practice"))
    .getAllByRole("row")
    .slice(1);
  expect(
    rows.map((row) =>
      within(row)
        .getAllByRole("cell")
        .map((cell) => cell.textContent),
    ),
  ).toEqual([
    ["80 % of 30", "10 % of 10", "2.04", "1.20 to 2.90"],
    ["33 % of 3", "0 % of 1", "too few to tell"],
  ]);
});

it("practice is turned on and off under Settings", async () => {
  window.location.hash = "#/settings";
  let now: PracticeView = { on: false, oneIn: 40, operators: [] };
  const console = fakeConsole({
    answers: {
      settings: () => settings(),
      practice: () => now,
      set_practice: (to) => (now = { ...now, ...to }),
    },
  });
  render(<App transport={console} />);
  const part = within(await screen.findByTestId("setting-practice"));
  const choose = async (label: string): Promise<void> => {
    fireEvent.click(part.getByLabelText(label));
    await waitFor(() => {
      expect(part.getByLabelText<HTMLInputElement>(label).checked).toBe(true);
    });
  };
  expect(part.getByLabelText<HTMLInputElement>("Off").checked).toBe(true);
  await choose("1 card in 20");
  await choose("Off");
  expect(console.argsOf("set_practice")).toEqual([
    { on: true, oneIn: 20 },
    { on: false, oneIn: 20 },
  ]);
});
