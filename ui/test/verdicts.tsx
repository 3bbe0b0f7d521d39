/** Three cards, and what becomes of the verdicts on them, as tests follow it. */
import { act, render, screen, waitFor } from "@testing-library/react";
import { expect } from "vitest";
import { batch, card, row, shown } from "./build";
import { fakeConsole, type FakeConsole } from "./fakeTransport";
import type { Card, CardState, InboxRow, VotesCount } from "../src/ipc/generated";
import { App } from "../src/app/App";
import { press, armed } from "./hands";

export const FAR = 600_000;
export const KEYS = ["a/b/1", "a/b/2", "a/b/3"];

export const go = (key: string): void => {
  press("g");
  press(key);
};

export const entry = (key = "a/b/1"): HTMLElement =>
  document.querySelector(`[data-testid="sent"] li[data-key="${key}"]`) as HTMLElement;
export const becomes = (state: string, key = "a/b/1"): Promise<void> =>
  waitFor(() => {
    expect(entry(key).dataset["state"]).toBe(state);
  });

export interface Told {
  readonly number: number;
  readonly key?: string;
  readonly state?: CardState;
  readonly verdict?: string;
  readonly by?: string;
  readonly votes?: VotesCount;
}

/** Three cards; what was approved is held until the test tells more of it. */
export const desk = async (cards: Partial<Card> = {}, rows: Partial<InboxRow> = {}): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows: KEYS.map((key, place) => row({ key, seq: place, deadlineMs: FAR + place, ...rows })),
    cards: KEYS.map((key, place) => card({ key, deadlineMs: FAR + place, ...cards })),
    answers: { decide: () => ({ state: "holding", verdict: "approve", releaseMs: 3_000 }), undo: () => ({}) },
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  return console;
};
export const tell = (console: FakeConsole, { number, key = "a/b/1", state, verdict, by, votes }: Told): void => {
  const place = KEYS.indexOf(key);
  const stands = state === "pending" || state === "holding" || state === "queued";
  const change =
    state === undefined
      ? []
      : stands
        ? [
            {
              type: "put" as const,
              row: row({ key, seq: place, deadlineMs: FAR + place, state, votes: votes ?? null }),
            },
          ]
        : [{ type: "gone" as const, key }];
  act(() => {
    console.send(
      batch(
        number,
        change,
        verdict === undefined
          ? {}
          : { touched: [{ key, verdict, by: by === undefined ? null : shown(by), mine: false }] },
      ),
    );
  });
};
export const approved = async (console: FakeConsole): Promise<void> => {
  await armed();
  press("a");
  await becomes("holding");
  tell(console, { number: 1, state: "holding" });
};
