import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { batch, card, row, shown } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { pause, press } from "../../test/hands";
import { App } from "./App";

const FAR = 600_000;
const KEYS = ["a/b/1", "a/b/2", "a/b/3"];
const desk = async (keys = KEYS): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows: keys.map((key, place) => row({ key, seq: place, deadlineMs: FAR + place })),
    cards: KEYS.map((key, place) => card({ key, deadlineMs: FAR + place })),
    answers: { decide: () => ({ state: "decided", verdict: "approve", releaseMs: null }) },
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  return console;
};
const expire = (console: FakeConsole, number: number, key: string, verdict = "expired"): void => {
  const there = console.answers.card;
  console.answers.card = (args) =>
    args.key === key ? card({ key, deadlineMs: FAR, state: "expired" }) : (there?.(args) ?? card({ key: args.key }));
  act(() => {
    console.send(
      batch(number, [{ type: "gone", key }], { touched: [{ key, verdict, by: shown("console"), mine: false }] }),
    );
  });
};
const shownKey = (): string | undefined => screen.getByTestId("card").dataset["key"];
const shows = (key: string): Promise<void> =>
  waitFor(() => {
    expect(shownKey()).toBe(key);
  });

describe("a card that expires while others wait", () => {
  it("gives way to the next one by deadline, which is disarmed and then approved by its own key", async () => {
    const console = await desk();
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["armed"]).toBe("true");
    });
    expire(console, 1, "a/b/1");
    await shows("a/b/2");
    expect(screen.getByTestId("card").dataset["armed"]).toBe("false");
    expect(document.querySelector("[role=option][aria-selected=true]")?.getAttribute("data-key")).toBe("a/b/2");
    expect(screen.getByTestId("expired").textContent).toContain("expired without an answer");
    press("a");
    await pause(20);
    expect(console.argsOf("decide")).toEqual([]);
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["armed"]).toBe("true");
    });
    press("a");
    await waitFor(() => {
      expect(console.argsOf("decide")).toMatchObject([{ key: "a/b/2" }]);
    });
  });

  it("stays while something is typed on it, and goes with Esc", async () => {
    const console = await desk();
    press("d");
    fireEvent.change(await screen.findByLabelText("Reason for the agent"), { target: { value: "not n" } });
    expire(console, 1, "a/b/1");
    await screen.findByTestId("too-late");
    expect(shownKey()).toBe("a/b/1");
    press("Escape");
    await shows("a/b/2");
  });

  it("that was not looked at moves nobody, nor does one that was decided elsewhere", async () => {
    const console = await desk();
    expire(console, 1, "a/b/3");
    await pause(50);
    expect(shownKey()).toBe("a/b/1");
    expire(console, 2, "a/b/1", "approve");
    await pause(50);
    expect(shownKey()).toBe("a/b/1");
    expect(screen.queryByTestId("expired")).toBeNull();
  });

  it("stays as the last one", async () => {
    const console = await desk(["a/b/1"]);
    expire(console, 1, "a/b/1");
    await screen.findByTestId("closed");
    expect(shownKey()).toBe("a/b/1");
  });
});
