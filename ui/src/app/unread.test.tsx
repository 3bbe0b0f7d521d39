import { render, screen, waitFor, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { card, row } from "../../test/build";
import { fakeConsole } from "../../test/fakeTransport";
import { CallError } from "../ipc/transport";
import { App } from "./App";

it.each(["why", "tool_record", "led_here"] as const)("a card says why %s could not be read, and does not leave it out", async (name) => {
  const FAR = 600_000;
  const answers = { [name]: () => { throw new CallError("failed", "the store is busy"); } };
  render(<App transport={fakeConsole({ rows: [row({ deadlineMs: FAR })], cards: [card({ deadlineMs: FAR })], answers })} />);
  const body = await screen.findByTestId("card-body");
  const told = await within(body).findByRole("alert");
  expect(told.textContent).toBe("Could not be read: the store is busy");
  await waitFor(() => { expect(within(body).getAllByRole("alert")).toHaveLength(1); });
});
