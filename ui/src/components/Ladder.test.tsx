import { render, screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { card, shown } from "../../test/build";
import { fakeConsole } from "../../test/fakeTransport";
import { createDesk } from "../desk/desk";
import { DeskProvider } from "../desk/DeskContext";
import { Votes } from "../features/inbox/card/Votes";
import type { Rung } from "../ipc/generated";
import { Decision } from "./Decision";
import { Ladder } from "./Ladder";

const executed = (more: Partial<Rung>): Rung => ({
  rung: "executed",
  state: "open",
  atMs: null,
  detail: null,
  ...more,
});

it.each([
  ["may still run", executed({}), "Executed (not yet)"],
  ["never runs, as decided", executed({ state: "never" }), "Does not run (as decided)"],
  ["failed", executed({ state: "bad", detail: shown("no such file") }), "Failed no such file (went wrong)"],
  [
    "ran although nothing allowed it",
    executed({ state: "forbidden", detail: shown("without approval") }),
    "Executed without approval (not allowed)",
  ],
])("the last rung of a call that %s reads so", (_, rung, words) => {
  render(<Ladder card={{ ...card(), ladder: [rung] }} />);
  expect(screen.getByTestId("ladder").textContent).toBe(words);
});

it("a step, a decision and a vote of another day are reported with their day, in another year with that too", () => {
  const atMs = new Date(2025, 10, 3, 14, 20, 7).getTime();
  const desk = createDesk(fakeConsole());
  vi.spyOn(desk, "now").mockReturnValue(new Date(2026, 10, 23).getTime());
  const decision = {
    verdict: "approve",
    by: shown("ann"),
    mine: false,
    origin: "operator",
    keyTail: "7Q2F",
    atMs,
    message: null,
    rule: null,
    edited: [],
  };
  const vote = { type: "open", by: shown("ann"), mine: false, verdict: "approve", keyTail: "9ZZX", atMs } as const;
  render(
    <DeskProvider desk={desk}>
      <Ladder card={{ ...card(), ladder: [executed({ state: "done", atMs })] }} />
      <Decision decision={decision} workspace="acme" />
      <Votes votes={{ count: { required: 2, given: 1, apart: 0, mine: false }, votes: [vote] }} />
    </DeskProvider>,
  );
  for (const place of ["ladder", "decision"])
    expect(screen.getByTestId(place).textContent).toContain("3 Nov 2025, 14:20:07");
  expect(screen.getByText(/key 9ZZX, 3 Nov 2025, 14:20:07$/u)).toBeTruthy();
});

it.each([
  [0, null],
  [1, "1 vote is for a different answer and not counted here. Another operator must agree, or somebody denies it."],
])("of votes that do not count together %d are reported", (apart, words) => {
  render(<Votes votes={{ count: { required: 2, given: 1, apart, mine: true }, votes: [] }} />);
  expect(screen.queryByTestId("votes-apart")?.textContent ?? null).toBe(words);
});
