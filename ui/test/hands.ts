/** What an operator's hands do, and what they wait for. */
import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import { expect } from "vitest";

export const press = (key: string, more: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
};

export const pause = (ms: number): Promise<void> =>
  act(async () => {
    await new Promise((done) => {
      setTimeout(done, ms);
    });
  });

/** The open card may be approved. */
export const armed = (): Promise<void> =>
  waitFor(() => {
    expect(screen.getByTestId("card").dataset["armed"]).toBe("true");
  });
