/** Two calls in a console, and what a person does with them; for the tests of what must be seen first. */
import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { expect } from "vitest";
import { App } from "../src/app/App";
import type { Card, InboxRow } from "../src/ipc/generated";
import { card, row, shown } from "./build";
import { fakeConsole, type FakeConsole } from "./fakeTransport";
import { screenObserver } from "./setup";

export const FAR = 600_000;
export const KEYS = ["a/b/1", "a/b/2"];
export const press = (key: string, more: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
};
export const chord = (): void => {
  press("A", { ctrlKey: true, shiftKey: true });
};
export const pause = (ms: number): Promise<void> =>
  act(async () => {
    await new Promise((done) => {
      setTimeout(done, ms);
    });
  });
export const onScreen = (unseen: string | null): void => {
  act(() => {
    screenObserver.becomes(unseen);
  });
};
export const isArmed = (place = "card"): string | undefined => screen.getByTestId(place).dataset["armed"];
export const armed = (place = "card"): Promise<void> =>
  waitFor(() => {
    expect(isArmed(place)).toBe("true");
  });
export const decided = (console: FakeConsole): number => console.argsOf("decide").length;
export const once = (console: FakeConsole): Promise<void> =>
  waitFor(() => {
    expect(decided(console)).toBe(1);
  });

/** A decides nothing until the card is armed. */
export const onceArmed = async (console: FakeConsole): Promise<void> => {
  press("a");
  expect(decided(console)).toBe(0);
  await armed();
  press("a");
  await once(console);
};

/** Two calls; the first of them is open. */
export const desk = async (more: Partial<Card> = {}, answers: FakeConsole["answers"] = {}): Promise<FakeConsole> => {
  const { risk = "medium", path = "low" } = more;
  const rowMore: Partial<InboxRow> = { risk, path };
  const console = fakeConsole({
    rows: KEYS.map((key, place) => row({ key, seq: place, deadlineMs: FAR + place, ...rowMore })),
    cards: KEYS.map((key, place) => card({ key, deadlineMs: FAR + place, ...more })),
    answers: {
      decide: () => ({ state: "holding", verdict: "approve", releaseMs: 3_000 }),
      reveal: () => ({ reveal: 0, value: shown("hunter2"), ascii: '"hunter2"' }),
      ...answers,
    },
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  return console;
};
export const secret = { reveals: [{ reveal: 0, kind: "secret" as const, place: shown("password") }] };

/** Once a card could be armed, A is pressed. */
export const tried = async (): Promise<void> => {
  await pause(500);
  press("a");
  await pause(20);
};
