import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { batch, card, row } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { App } from "./App";

const FAR = 600_000;
const press = (key: string): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key });
};
const keys = ["a/b/1", "a/b/2"];
const open = async (): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows: keys.map((key, place) => row({ key, deadlineMs: FAR + place, seq: place })),
    cards: keys.map((key, place) => card({ key, deadlineMs: FAR + place })),
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  return console;
};
const shownCard = (): string | undefined => screen.getByTestId("card").dataset["key"];
const listed = (): readonly (string | undefined)[] => screen.queryAllByTestId("row").map((one) => one.dataset["key"]);

describe("the key S", () => {
  it("hides a card, goes on to the next one, and decides nothing", async () => {
    const console = await open();
    press("s");
    expect((await screen.findByTestId("snooze-panel")).textContent).toContain("Only hidden here");
    fireEvent.click(screen.getByText("5 minutes"));
    await waitFor(() => {
      expect(shownCard()).toBe("a/b/2");
    });
    expect(listed()).toEqual(["a/b/2"]);
    expect([screen.getByTestId("waiting").textContent, screen.getByTestId("snoozed").textContent?.trim()]).toEqual([
      "1 waiting",
      "1 snoozed",
    ]);
    expect(screen.getByRole("link", { name: /^Inbox ?, 1$/u })).toBeDefined();
    expect(console.asked.filter(({ name }) => name === "decide" || name === "undo")).toEqual([]);
  });

  it("keeps it hidden after a restart, and brings it back when it is due sooner or when asked to", async () => {
    localStorage.setItem("countersign.snoozes", JSON.stringify({ "a/b/1": FAR / 2, "a/b/2": FAR / 2 }));
    const console = fakeConsole({
      rows: keys.map((key, place) => row({ key, deadlineMs: FAR + place, seq: place })),
      cards: keys.map((key) => card({ key, deadlineMs: FAR })),
    });
    render(<App transport={console} />);
    expect((await screen.findByTestId("snoozed")).textContent).toContain("2 snoozed");
    act(() => {
      console.send(batch(1, [{ type: "put", row: row({ key: "a/b/2", deadlineMs: 50_000 }) }]));
    });
    await waitFor(() => {
      expect(listed()).toEqual(["a/b/2"]);
    });
    fireEvent.click(screen.getByTestId("snoozed"));
    fireEvent.click(await screen.findByText("Back now"));
    await waitFor(() => {
      expect(listed()).toEqual(["a/b/2", "a/b/1"]);
    });
    expect(screen.queryByTestId("snoozed")).toBeNull();
    expect(screen.getByRole("link", { name: /^Inbox ?, 2$/u })).toBeDefined();
  });
});
