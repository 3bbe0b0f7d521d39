/** The inbox with the cards of a test. */
import { render, screen } from "@testing-library/react";
import { card, row } from "./build";
import { fakeConsole, type FakeConsole } from "./fakeTransport";
import { App } from "../src/app/App";
import type { Card, InboxRow } from "../src/ipc/generated";

export const chord = { ctrlKey: true, shiftKey: true };
export const FAR = 600_000;

export const desk = async (
  rows: readonly InboxRow[],
  cards: readonly Card[],
  more: Parameters<typeof fakeConsole>[0] = {},
): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows,
    cards,
    answers: { decide: () => ({ state: "holding", verdict: "approve", releaseMs: 3_000 }), undo: () => ({}) },
    ...more,
  });
  render(<App transport={console} />);
  if (rows.length > 0) await screen.findByTestId("card");
  return console;
};
export const one = (more: Partial<Card> = {}, rowMore: Partial<InboxRow> = {}): Promise<FakeConsole> =>
  desk([row({ deadlineMs: FAR, ...rowMore })], [card({ deadlineMs: FAR, ...more })]);
